//! Finds every mistake in the block `placement`.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::{check_forbidden_default, check_forbidden_labels, check_pod_selector};
use super::selectors::{NOTHING_REQUIRED, SettingSelector, consistent, contradiction};
use super::{Mistakes, amounts};
use crate::message::{joined, quote};
use crate::selector::{PossibleValues, Requirement, Selector, Whitelist, syntax};
use crate::settings::key::{KeyPattern, TargetKind};
use crate::settings::reference::{NAME, StandIns};
use crate::settings::{
    EntryAt, NamespaceEntry, OnDaemonSets, OnDefaultConflict, OnNodeAffinity, OnNodes, Placement, Propagate, Setting,
    SettingPath, placement_block, reference,
};
use crate::toleration::Toleration;

/// The path of the cluster's default.
const CLUSTER_DEFAULT: SettingPath = SettingPath::Placement(Setting::ClusterDefaultNodeSelector);

/// Finds every mistake in the block.
pub fn check(placement: &Placement, propagate: &[Propagate], mistakes: &mut Mistakes) {
    let text = placement.cluster_default_node_selector.as_deref();
    let cluster_default = text.and_then(|text| mistakes.check(&CLUSTER_DEFAULT, consistent(text)));
    if let Some(selector) = &cluster_default {
        amounts::check_node_selectors(&[(CLUSTER_DEFAULT, selector)], false, mistakes);
    }
    let path = SettingPath::Placement(Setting::ClusterDefaultTolerations);
    let cluster_tolerations = placement.cluster_default_tolerations.as_deref().unwrap_or_default();
    check_tolerations(&path, cluster_tolerations, false, mistakes);
    amounts::check_tolerations(&path, cluster_tolerations, mistakes);
    for (position, key) in placement.namespace_annotations.0.iter().enumerate() {
        let path = format!("placement.namespaceAnnotations[{position}]");
        mistakes.check(&path, TargetKind::Annotation.check(key));
    }
    check_daemon_sets(placement, mistakes);
    check_guarded_labels(placement, mistakes);
    check_usernames(&placement.exempt_usernames, mistakes);
    let mut earlier = EarlierEntries::default();
    let mut guarded =
        !placement.guarded_node_labels.is_empty() || cluster_default.iter().any(|selector| !selector.is_empty());
    for entry in EntryAt::all(placement) {
        earlier.check(entry, propagate, mistakes);
        guarded |= check_node_selectors(entry, placement, cluster_default.as_ref(), mistakes);
        check_preferred(entry, mistakes);
        check_tolerations_of(entry, cluster_tolerations, mistakes);
        check_forbidden_labels(entry, mistakes);
    }
    if placement.on_nodes != OnNodes::Ignore && !guarded {
        let problem = "there is no label to guard: no node selector of the settings names one; add one, or use Ignore";
        mistakes.add(&"placement.onNodes", &problem);
    }
}

/// Checks what the API server would refuse in a Pod. In an entry, values may have references.
fn check_tolerations(path: &SettingPath, tolerations: &[Toleration], may_refer: bool, mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        let (path, mut filled) = (format!("{path}[{position}]"), toleration.clone());
        if may_refer {
            let value = reference::with_stand_ins(&toleration.value, StandIns::Usual);
            filled.value = mistakes.check(&format_args!("{path}.value"), value).unwrap_or_default().into_owned();
        }
        for mistake in filled.check() {
            let problem = reference::with_references(&toleration.value, mistake.problem());
            mistakes.add(&format_args!("{path}.{}", mistake.path()), &problem);
        }
    }
}

/// Checks the tolerations of an entry.
fn check_tolerations_of(entry: EntryAt<'_>, cluster_defaults: &[Toleration], mistakes: &mut Mistakes) {
    let NamespaceEntry { default_tolerations, forbidden_tolerations, .. } = entry.entry;
    for (setting, list) in entry.toleration_lists() {
        check_tolerations(&entry.path(setting), list, true, mistakes);
    }
    if let Some(defaults) = default_tolerations {
        amounts::check_tolerations(&entry.path(Setting::DefaultTolerations), defaults, mistakes);
    }
    let Some(forbidden) = forbidden_tolerations else { return };
    let path = entry.path(Setting::ForbiddenTolerations);
    for (position, toleration) in forbidden.iter().enumerate() {
        if is_key_alone(toleration) {
            mistakes.add(&format_args!("{path}[{position}]"), &KEY_ALONE);
        }
    }
    let defaults = default_tolerations.as_deref().unwrap_or(cluster_defaults);
    let source = match default_tolerations {
        Some(_) => entry.path(Setting::DefaultTolerations),
        None => SettingPath::Placement(Setting::ClusterDefaultTolerations),
    };
    // A default that something forbidden overlaps would have every Pod rejected.
    for default in defaults {
        if let Some(forbidding) = forbidden.iter().find(|forbidding| forbidding.overlaps(default)) {
            let problem = format!(
                "forbids {}, which {source} adds to Pods: {} overlaps it; change one of the two",
                quote(&default.to_string()),
                quote(&forbidding.to_string())
            );
            mistakes.add(&path, &problem);
        }
    }
}

const KEY_ALONE: &str = "a key alone forbids only the empty value; add operator: Exists to forbid every value, or \
                         operator: Equal if only that one is meant";

fn is_key_alone(toleration: &Toleration) -> bool {
    !toleration.key.is_empty() && toleration.operator.is_empty() && toleration.value.is_empty()
}

/// Checks that DaemonSets are validated if Pods are limited. Their controller replaces the node affinity of their Pods,
/// so only their templates show what they request.
fn check_daemon_sets(placement: &Placement, mistakes: &mut Mistakes) {
    let lets_past = matches!(placement.on_daemon_sets, OnDaemonSets::Warn | OnDaemonSets::Ignore);
    if !lets_past || placement.on_node_affinity == OnNodeAffinity::Ignore {
        return;
    }
    let Some(entry) = EntryAt::all(placement).find(|entry| entry.limits_labels()) else { return };
    let limit = match entry.allowed_node_selector {
        Some(_) => Setting::AllowedNodeSelector,
        None => Setting::ForbiddenNodeLabels,
    };
    let problem = format!(
        "with {:?}, DaemonSets get past {entry}.{limit}, since their controller replaces the node affinity of their \
         Pods; use Inject or Reject, or onNodeAffinity: Ignore",
        placement.on_daemon_sets
    );
    mistakes.add(&"placement.onDaemonSets", &problem);
}

fn check_guarded_labels(placement: &Placement, mistakes: &mut Mistakes) {
    let path = "placement.guardedNodeLabels";
    if placement.on_nodes == OnNodes::Ignore && !placement.guarded_node_labels.is_empty() {
        mistakes.add(&path, &"with onNodes: Ignore, they are not guarded; use RejectChanges or Reject");
    }
    for (position, label) in placement.guarded_node_labels.iter().enumerate() {
        mistakes.check(&format_args!("{path}[{position}]"), KeyPattern::new(label).check(TargetKind::Label));
    }
}

/// The controllers that make Pods from everybody's templates.
const CONTROLLERS: [&str; 7] = [
    "replicaset-controller",
    "deployment-controller",
    "statefulset-controller",
    "daemon-set-controller",
    "job-controller",
    "cronjob-controller",
    "replication-controller",
];

/// The user of requests without credentials.
const ANONYMOUS: &str = "system:anonymous";

fn check_usernames(usernames: &[String], mistakes: &mut Mistakes) {
    let mut earlier = BTreeSet::new();
    for (position, username) in usernames.iter().enumerate() {
        let path = format!("placement.exemptUsernames[{position}]");
        let controller = username.strip_prefix("system:serviceaccount:kube-system:");
        let is_controller =
            username == "system:kube-controller-manager" || controller.is_some_and(|name| CONTROLLERS.contains(&name));
        if username.is_empty() {
            mistakes.add(&path, &"expected the full name of a user, found nothing");
        } else if reference::is_in(username) {
            mistakes.add(&path, &reference::not_possible(username));
        } else if username.contains('*') || username == ANONYMOUS {
            mistakes.add(&path, &format_args!("expected the full name of one user, found {}", quote(username)));
        } else if !earlier.insert(username.clone()) {
            mistakes.add(&path, &format_args!("{} is listed twice; remove one of them", quote(username)));
        } else if is_controller {
            let problem = "creates the Pods of all users, so that all users would be exempt; remove it";
            mistakes.add(&path, &format_args!("{} {problem}", quote(username)));
        }
    }
}

const EXPECTED_NAME: &str =
    "expected the name of a namespace, or the beginning of names and '*'; or a namespaceSelector";

/// The entries before one.
#[derive(Debug, Default)]
pub struct EarlierEntries {
    /// The names of entries that match by name alone, with their paths. Each applies to all namespaces that its name fits.
    by_name: BTreeMap<String, String>,
    /// The name, the namespaceSelector and the podSelector of each other entry.
    by_labels: BTreeSet<String>,
}

impl EarlierEntries {
    /// Checks which namespaces and Pods the next entry is about.
    pub fn check(&mut self, entry: EntryAt<'_>, propagate: &[Propagate], mistakes: &mut Mistakes) {
        let NamespaceEntry { name, namespace_selector, pod_selector, .. } = entry.entry;
        let mut read = |text: &Option<String>, setting| {
            let path = entry.path(setting);
            let selector = mistakes.check(&path, consistent(text.as_ref()?))?;
            if selector.is_empty() {
                mistakes.add(&path, &NOTHING_REQUIRED);
            }
            Some(selector)
        };
        let selector = read(namespace_selector, Setting::NamespaceSelector);
        let pods = read(pod_selector, Setting::PodSelector);
        if let Some(pods) = &pods {
            check_pod_selector(entry, pods, propagate, mistakes);
        }
        let checked = match name {
            Some(name) => placement_block::check_name(name),
            None if namespace_selector.is_none() => Err(EXPECTED_NAME.to_owned()),
            None => Ok(()),
        };
        if let (Some(name), Some(selector)) = (name, &selector)
            && excludes_name(selector, name)
        {
            let problem =
                format!("no namespace with the name {} has such a label {NAME}; change one of the two", quote(name));
            mistakes.add(&entry.path(Setting::NamespaceSelector), &problem);
        }
        let name = name.as_deref().unwrap_or_default();
        if mistakes.check(&format_args!("{entry}.name"), checked.and_then(|()| self.check_reachable(name))).is_none() {
            return;
        }
        if entry.matches_by_name_alone() {
            self.by_name.insert(name.to_owned(), entry.to_string());
            return;
        }
        let words = |selector: Option<Selector>| selector.map(|selector| selector.to_string()).unwrap_or_default();
        let (setting, same) = match pod_selector {
            None => (Setting::NamespaceSelector, "name and namespaceSelector"),
            Some(_) => (Setting::PodSelector, "name, namespaceSelector and podSelector"),
        };
        if !self.by_labels.insert(format!("{name} {} {}", words(selector), words(pods))) {
            mistakes.add(&entry.path(setting), &format_args!("an earlier entry has the same {same}; merge the two"));
        }
    }

    /// Checks that no earlier entry applies to all namespaces of this name. An empty name stands for all namespaces.
    ///
    /// This costs at most 64 look-ups, one for each beginning of the name.
    fn check_reachable(&self, name: &str) -> Result<(), String> {
        let beginning = name.trim_end_matches('*');
        let beginnings = (0..=beginning.len()).filter_map(|length| beginning.get(..length));
        let mut covering: Vec<String> = beginnings.map(|beginning| format!("{beginning}*")).collect();
        covering.push(name.to_owned());
        let winner = covering.iter().find_map(|name| self.by_name.get_key_value(name));
        let Some((winner, path)) = winner else { return Ok(()) };
        let shown = if name.is_empty() { "an entry without a name".to_owned() } else { quote(name) };
        let problem = format!("{shown} is never reached: {path}, {}, comes before and wins", quote(winner));
        Err(format!("{problem}; swap the two, or remove one"))
    }
}

/// Returns whether `selector` excludes all namespaces that `pattern` fits. Each Namespace has its name as a label.
fn excludes_name(selector: &Selector, pattern: &str) -> bool {
    let requirements = selector.on(NAME);
    let Some(beginning) = pattern.strip_suffix('*') else {
        return requirements.iter().any(|requirement| !requirement.accepts(Some(pattern)));
    };
    let possible = PossibleValues::of(requirements);
    match possible.listed() {
        Some(names) => !names.iter().any(|name| name.starts_with(beginning) && syntax::is_dns_label(name)),
        None => possible.are_integers() && !beginning.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

/// Checks the node selectors of the entry, alone and with the cluster's default. Returns whether one names a label.
fn check_node_selectors(
    entry: EntryAt<'_>,
    placement: &Placement,
    cluster: Option<&Selector>,
    mistakes: &mut Mistakes,
) -> bool {
    let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = entry.entry;
    let mut check = |setting, selector: Option<_>| mistakes.check(&entry.path(setting), selector?);
    let required =
        check(Setting::RequiredNodeSelector, required_node_selector.as_deref().map(SettingSelector::read_required));
    let default = check(Setting::DefaultNodeSelector, default_node_selector.as_deref().map(SettingSelector::read));
    let allowed = check(Setting::AllowedNodeSelector, allowed_node_selector.as_deref().map(SettingSelector::read));
    if let (Some(required), Some(default)) = (&required, &default)
        && let Some(reason) = contradiction(&default.known(), &required.known())
    {
        let problem = format!("contradicts requiredNodeSelector: {reason}");
        mistakes.add(&entry.path(Setting::DefaultNodeSelector), &problem);
    }
    // The cluster's default applies if the entry has none.
    let cluster_default = cluster.filter(|_| default_node_selector.is_none());
    if let (Some(required), Some(cluster_default)) = (&required, cluster_default)
        && let Some(reason) = contradiction(&required.known(), cluster_default)
    {
        let problem = format!(
            "contradicts placement.clusterDefaultNodeSelector: {reason}; to switch it off here, use \
             defaultNodeSelector: \"\""
        );
        mistakes.add(&entry.path(Setting::RequiredNodeSelector), &problem);
    }
    let added = [
        required.as_ref().map(|read| (entry.path(Setting::RequiredNodeSelector), &read.selector)),
        default.as_ref().map(|read| (entry.path(Setting::DefaultNodeSelector), &read.selector)),
        cluster_default.map(|selector| (CLUSTER_DEFAULT, selector)),
    ];
    let added: Vec<_> = added.into_iter().flatten().collect();
    amounts::check_node_selectors(&added, entry.limits_labels(), mistakes);
    // It is sure to be added where neither an annotation nor what a Pod chooses can replace it.
    let is_sure =
        placement.namespace_annotations.0.is_empty() && placement.on_default_conflict == OnDefaultConflict::Reject;
    if let Some(cluster_default) = cluster_default.filter(|_| is_sure) {
        let required = required.clone().unwrap_or_default();
        check_forbidden_default(entry, cluster_default, &required, placement.on_node_affinity, mistakes);
        let checked = allowed.as_ref().map_or(Ok(()), |allowed| {
            check_allowed(cluster_default, allowed, &required.selector, placement.on_node_affinity)
        });
        mistakes.check(&entry.path(Setting::AllowedNodeSelector), checked);
    }
    [required, default, allowed].iter().flatten().any(|read| !read.selector.is_empty())
}

/// Checks that a whitelist allows the cluster's default: no Pod could be created otherwise.
fn check_allowed(
    default: &Selector,
    allowed: &SettingSelector,
    required: &Selector,
    on_node_affinity: OnNodeAffinity,
) -> Result<(), String> {
    let Some(refused) = first_not_allowed(default, allowed, required, on_node_affinity) else { return Ok(()) };
    Err(format!(
        "does not allow {}, which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; \
         allow it, or give the entry a defaultNodeSelector that it allows",
        quote(&refused.to_string())
    ))
}

/// Returns the first requirement of the cluster's default that a whitelist does not allow. What the entry requires is
/// always allowed. Skips labels for which the whitelist refers to labels of the Namespace.
pub fn first_not_allowed<'d>(
    default: &'d Selector,
    allowed: &SettingSelector,
    required: &Selector,
    on_node_affinity: OnNodeAffinity,
) -> Option<&'d Requirement> {
    let whitelist = Whitelist::new(allowed.selector.clone(), required.requirements().to_vec());
    default.requirements().iter().find(|requirement| {
        let key = requirement.key();
        let is_allowed = match requirement.only_value() {
            Some(value) => whitelist.allows_value(key, value),
            None => on_node_affinity == OnNodeAffinity::Ignore || whitelist.allows(requirement),
        };
        !is_allowed && allowed.is_known(key)
    })
}

/// Checks the preferred node selectors.
fn check_preferred(entry: EntryAt<'_>, mistakes: &mut Mistakes) {
    let place = entry.path(Setting::PreferredNodeSelector);
    let (mut earlier, mut selectors) = (BTreeSet::new(), Vec::new());
    for (position, preferred) in entry.preferred_node_selector.iter().enumerate() {
        let path = format!("{place}[{position}]");
        if !(1..=100).contains(&preferred.weight) {
            mistakes
                .add(&format_args!("{path}.weight"), &format_args!("expected 1 to 100, found {}", preferred.weight));
        }
        let text = &preferred.selector;
        let checked = mistakes.check(&format_args!("{path}.selector"), SettingSelector::read_required(text));
        let Some(SettingSelector { selector, .. }) = checked else { continue };
        if !earlier.insert(format!("{} {}", preferred.weight, meaning(text, &selector))) {
            mistakes.add(&path, &"an earlier element says the same; remove one of them");
        }
        selectors.push(selector);
    }
    amounts::check_preferred(&place, &selectors, mistakes);
}

/// Returns a text that is equal for selectors with the same meaning, as `a=b` and `a in (b)`. `selector` was read from
/// `text`.
fn meaning(text: &str, selector: &Selector) -> String {
    let mut meaning = BTreeSet::new();
    for requirement in selector.requirements() {
        // References in place of their stand-ins, which are the same for all.
        meaning.insert(reference::with_references(text, &requirement.identity()));
    }
    joined(meaning, ",")
}
