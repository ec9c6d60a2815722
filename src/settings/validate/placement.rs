//! Finds every mistake in the block `placement`.

use std::collections::{BTreeMap, BTreeSet};

use super::pods::{check_forbidden_default, check_forbidden_labels, check_pod_selector};
use super::{
    Mistakes, NOTHING_REQUIRED, amounts, consistent, consistent_with_references, contradiction, have_references, known,
    required_selector,
};
use crate::message::{joined, quote};
use crate::selector::{PossibleValues, Requirement, Selector, Whitelist, syntax};
use crate::settings::key::{KeyPattern, TargetKind};
use crate::settings::reference::NAME;
use crate::settings::{
    EntryAt, NamespaceEntry, OnDaemonSets, OnDefaultConflict, OnNodeAffinity, OnNodes, Placement, Propagate, Setting,
    placement, reference,
};
use crate::toleration::Toleration;

/// The path of the cluster's default.
const CLUSTER_DEFAULT: &str = "placement.clusterDefaultNodeSelector";

/// Finds every mistake in the block.
pub fn check(placement: &Placement, propagate: &[Propagate], mistakes: &mut Mistakes) {
    let path = CLUSTER_DEFAULT;
    let text = placement.cluster_default_node_selector.as_deref();
    let cluster_default = text.and_then(|text| mistakes.check(&path, consistent(text)));
    if let Some(selector) = &cluster_default {
        amounts::check_node_selectors(&[(path.to_owned(), selector)], false, mistakes);
    }
    let cluster_tolerations = placement.cluster_default_tolerations.as_deref().unwrap_or_default();
    check_tolerations("placement.clusterDefaultTolerations", cluster_tolerations, false, mistakes);
    amounts::check_tolerations("placement.clusterDefaultTolerations", cluster_tolerations, mistakes);
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
    for (position, entry) in placement.namespaces.iter().enumerate() {
        let at = EntryAt { position, entry };
        earlier.check(at, propagate, mistakes);
        guarded |= check_node_selectors(at, placement, cluster_default.as_ref(), mistakes);
        check_preferred(at, mistakes);
        check_tolerations_of(at, cluster_tolerations, mistakes);
        check_forbidden_labels(at, mistakes);
    }
    if placement.on_nodes != OnNodes::Ignore && !guarded {
        let problem = "there is no label to guard: no node selector of the settings names one; add one, or use Ignore";
        mistakes.add(&"placement.onNodes", &problem);
    }
}

/// Checks what the API server would refuse in a Pod. In an entry, values may have references.
fn check_tolerations(path: &str, tolerations: &[Toleration], may_refer: bool, mistakes: &mut Mistakes) {
    for (position, toleration) in tolerations.iter().enumerate() {
        let (path, mut filled) = (format!("{path}[{position}]"), toleration.clone());
        if may_refer {
            let value = reference::with_stand_ins(&toleration.value);
            filled.value = mistakes.check(&format_args!("{path}.value"), value).unwrap_or_default().into_owned();
        }
        for mistake in filled.check() {
            let problem = reference::name_again(&toleration.value, mistake.problem());
            mistakes.add(&format_args!("{path}.{}", mistake.path()), &problem);
        }
    }
}

/// Checks the tolerations of an entry.
fn check_tolerations_of(at: EntryAt<'_>, cluster_defaults: &[Toleration], mistakes: &mut Mistakes) {
    let NamespaceEntry { default_tolerations, forbidden_tolerations, .. } = at.entry;
    for (field, list) in at.entry.toleration_lists() {
        check_tolerations(&format!("{at}.{field}"), list, true, mistakes);
    }
    if let Some(defaults) = default_tolerations {
        amounts::check_tolerations(&format!("{at}.defaultTolerations"), defaults, mistakes);
    }
    let Some(forbidden) = forbidden_tolerations else { return };
    let path = format!("{at}.forbiddenTolerations");
    for (position, toleration) in forbidden.iter().enumerate() {
        if is_key_alone(toleration) {
            mistakes.add(&format_args!("{path}[{position}]"), &KEY_ALONE);
        }
    }
    let defaults = default_tolerations.as_deref().unwrap_or(cluster_defaults);
    let own = format!("{at}.defaultTolerations");
    let source = if default_tolerations.is_some() { &own } else { "placement.clusterDefaultTolerations" };
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
    let mut entries = placement.namespaces.iter().enumerate();
    let Some((position, entry)) = entries.find(|(_, entry)| entry.limits_labels()) else { return };
    let limit = match entry.allowed_node_selector {
        Some(_) => Setting::AllowedNodeSelector,
        None => Setting::ForbiddenNodeLabels,
    };
    let problem = format!(
        "with {:?}, DaemonSets get past {}.{limit}, since their controller replaces the node affinity of their \
         Pods; use Inject or Reject, or onNodeAffinity: Ignore",
        placement.on_daemon_sets,
        EntryAt { position, entry }
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
    pub fn check(&mut self, at: EntryAt<'_>, propagate: &[Propagate], mistakes: &mut Mistakes) {
        let NamespaceEntry { name, namespace_selector, pod_selector, .. } = at.entry;
        let mut read = |text: &Option<String>, setting| {
            let path = format!("{at}.{setting}");
            let selector = mistakes.check(&path, consistent(text.as_ref()?))?;
            if selector.is_empty() {
                mistakes.add(&path, &NOTHING_REQUIRED);
            }
            Some(selector)
        };
        let selector = read(namespace_selector, Setting::NamespaceSelector);
        let pods = read(pod_selector, Setting::PodSelector);
        if let Some(pods) = &pods {
            check_pod_selector(at, pods, propagate, mistakes);
        }
        let checked = match name {
            Some(name) => placement::check_name(name),
            None if namespace_selector.is_none() => Err(EXPECTED_NAME.to_owned()),
            None => Ok(()),
        };
        if let (Some(name), Some(selector)) = (name, &selector)
            && excludes_name(selector, name)
        {
            let problem =
                format!("no namespace with the name {} has such a label {NAME}; change one of the two", quote(name));
            mistakes.add(&format_args!("{at}.namespaceSelector"), &problem);
        }
        let name = name.as_deref().unwrap_or_default();
        if mistakes.check(&format_args!("{at}.name"), checked.and_then(|()| self.check_reachable(name))).is_none() {
            return;
        }
        if at.entry.matches_by_name_alone() {
            self.by_name.insert(name.to_owned(), at.to_string());
            return;
        }
        let words = |selector: Option<Selector>| selector.map(|selector| selector.to_string()).unwrap_or_default();
        let (path, same) = match pod_selector {
            None => (Setting::NamespaceSelector, "name and namespaceSelector"),
            Some(_) => (Setting::PodSelector, "name, namespaceSelector and podSelector"),
        };
        if !self.by_labels.insert(format!("{name} {} {}", words(selector), words(pods))) {
            mistakes.add(
                &format_args!("{at}.{path}"),
                &format_args!("an earlier entry has the same {same}; merge the two"),
            );
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
        let Some((winner, at)) = winner else { return Ok(()) };
        let own = if name.is_empty() { "an entry without a name".to_owned() } else { quote(name) };
        let problem = format!("{own} is never reached: {at}, {}, comes before and wins", quote(winner));
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
    at: EntryAt<'_>,
    placement: &Placement,
    cluster: Option<&Selector>,
    mistakes: &mut Mistakes,
) -> bool {
    let NamespaceEntry { required_node_selector, default_node_selector, allowed_node_selector, .. } = at.entry;
    let mut check = |field, selector: Option<_>| mistakes.check(&format_args!("{at}.{field}"), selector?);
    let required = check("requiredNodeSelector", required_node_selector.as_deref().map(required_selector));
    let default = check("defaultNodeSelector", default_node_selector.as_deref().map(consistent_with_references));
    let allowed = check("allowedNodeSelector", allowed_node_selector.as_deref().map(consistent_with_references));
    if let (Some(required), Some(default)) = (&required, &default)
        && let Some(reason) = contradiction(&known(default), &known(required))
    {
        let problem = format!("contradicts requiredNodeSelector: {reason}");
        mistakes.add(&format_args!("{at}.defaultNodeSelector"), &problem);
    }
    // The cluster's holds where the entry has none.
    let cluster_default = cluster.filter(|_| default_node_selector.is_none());
    if let (Some(required), Some(cluster_default)) = (&required, cluster_default)
        && let Some(reason) = contradiction(&known(required), cluster_default)
    {
        let problem = format!(
            "contradicts placement.clusterDefaultNodeSelector: {reason}; to switch it off here, use \
             defaultNodeSelector: \"\""
        );
        mistakes.add(&format_args!("{at}.requiredNodeSelector"), &problem);
    }
    let added = [
        required.as_ref().map(|selector| (format!("{at}.requiredNodeSelector"), selector)),
        default.as_ref().map(|selector| (format!("{at}.defaultNodeSelector"), selector)),
        cluster_default.map(|selector| (CLUSTER_DEFAULT.to_owned(), selector)),
    ];
    let added: Vec<_> = added.into_iter().flatten().collect();
    amounts::check_node_selectors(&added, at.entry.limits_labels(), mistakes);
    // It is sure to be added where neither an annotation nor what a Pod chooses can replace it.
    let is_sure =
        placement.namespace_annotations.0.is_empty() && placement.on_default_conflict == OnDefaultConflict::Reject;
    let own = required.clone().unwrap_or_default();
    if let Some(cluster_default) = cluster_default.filter(|_| is_sure) {
        check_forbidden_default(at, cluster_default, &own, placement.on_node_affinity, mistakes);
    }
    if let (Some(allowed), Some(cluster_default)) = (&allowed, cluster_default.filter(|_| is_sure)) {
        let whitelist = Whitelist::new(allowed.clone(), own.requirements().to_vec());
        let checked = check_allowed(cluster_default, &whitelist, placement.on_node_affinity);
        mistakes.check(&format_args!("{at}.allowedNodeSelector"), checked);
    }
    [required, default, allowed].iter().flatten().any(|selector| !selector.is_empty())
}

/// Checks that `whitelist` allows the cluster's default: no Pod could be created otherwise.
fn check_allowed(default: &Selector, whitelist: &Whitelist, on_node_affinity: OnNodeAffinity) -> Result<(), String> {
    let Some(refused) = first_not_allowed(default, whitelist, on_node_affinity) else { return Ok(()) };
    Err(format!(
        "does not allow {}, which placement.clusterDefaultNodeSelector adds to Pods, so that none can be created; \
         allow it, or give the entry a defaultNodeSelector that it allows",
        quote(&refused.to_string())
    ))
}

/// Returns the first requirement of the cluster's default that `whitelist` does not allow. Skips labels for which the
/// whitelist refers to labels of the Namespace.
pub fn first_not_allowed<'d>(
    default: &'d Selector,
    whitelist: &Whitelist,
    on_node_affinity: OnNodeAffinity,
) -> Option<&'d Requirement> {
    default.requirements().iter().find(|requirement| {
        let key = requirement.key();
        let is_allowed = match requirement.only_value() {
            Some(value) => whitelist.allows_value(key, value),
            None => on_node_affinity == OnNodeAffinity::Ignore || whitelist.allows(requirement),
        };
        !is_allowed && !have_references(whitelist.selector().on(key))
    })
}

/// Checks the preferred node selectors.
fn check_preferred(at: EntryAt<'_>, mistakes: &mut Mistakes) {
    let place = format!("{at}.preferredNodeSelector");
    let (mut earlier, mut selectors) = (BTreeSet::new(), Vec::new());
    for (position, preferred) in at.entry.preferred_node_selector.iter().enumerate() {
        let path = format!("{place}[{position}]");
        if !(1..=100).contains(&preferred.weight) {
            mistakes
                .add(&format_args!("{path}.weight"), &format_args!("expected 1 to 100, found {}", preferred.weight));
        }
        let text = &preferred.selector;
        let checked = mistakes.check(&format_args!("{path}.selector"), required_selector(text));
        let Some(selector) = checked else { continue };
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
        meaning.insert(reference::name_again(text, &requirement.identity()));
    }
    joined(meaning, ",")
}
