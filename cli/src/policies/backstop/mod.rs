//! A backstop: a ValidatingAdmissionPolicy, which the API server evaluates itself, lets in only Pods that have what
//! `requiredNodeSelector` demands. So that holds while no policy-server answers, too.
//!
//! - `cel`: which namespaces an entry of the settings matches, and what a Pod must have there
//! - `backstop.yml.j2`: the file around that

mod cel;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use node_placement_policy::settings::{
    Enforcement, EntryAt, NamespaceEntry, OnExtendedResources, Placement, Setting, Source,
};
use serde_json::{Value, json};

use super::overrides::{KUBEWARDEN, NAME, Overrides, excludes_kubewarden, exempting};
use super::policy_file::own_conditions;
use crate::{
    SettingsFile,
    input::{documents::yaml_documents, settings::entries_at},
    template::render,
    wrap,
};

const TEMPLATE: &str = include_str!("../backstop.yml.j2");

/// With more entries, nobody has tried whether an API server evaluates the expressions within its limits.
const MOST_ENTRIES: usize = 100;

/// The longest expression that CEL compiles, in characters (`expressionSizeCodePointLimit` of cel-go).
const LONGEST_EXPRESSION: usize = 100_000;

const LINE: usize = 118;

/// Writes the backstop of the policy that `policy` writes: for settings, or for the one policy in a file that places
/// Pods.
///
/// # Errors
/// The file has neither settings nor ClusterAdmissionPolicies, `overrides` has a mistake, or there is no backstop for these
/// settings.
pub fn backstop_file(text: &str, overrides: &Overrides) -> Result<String> {
    overrides.validate()?;
    let mut files = SettingsFile::read_all(yaml_documents(text)?)?;
    files.retain(|file| file.typed.placement.is_some() && !file.is_about_nodes());
    ensure!(files.len() <= 1, "expected one policy that places Pods; found {}", files.len());
    let Some(SettingsFile { name, policy, typed, .. }) = files.pop() else {
        bail!("nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces");
    };
    let placement = typed.placement.unwrap_or_default();
    let count = placement.namespaces.len();
    ensure!(
        count <= MOST_ENTRIES,
        "placement.namespaces: a backstop can have at most {MOST_ENTRIES} entries; found {count}. One entry can serve many \
         tenants: refer to a label of their namespaces"
    );
    let covers_all = policy.as_ref().is_some_and(|policy| policy.namespace_selector == LabelSelector::default());
    let policy = policy.unwrap_or_default();
    let mut namespaces =
        if covers_all && overrides.namespaces.is_none() { vec![] } else { overrides.namespaces(&policy)? };
    // Kubewarden leaves its own namespace out of every webhook. A backstop that did not would keep policy-servers from
    // starting.
    let covers_kubewarden = policy.allow_inside_admission_controller_namespace == Some(true);
    if !covers_kubewarden && !namespaces.iter().any(excludes_kubewarden) {
        namespaces.push(exempting(&[KUBEWARDEN]));
    }
    let matches = entries_at(&placement).map(|at| cel::entry_matches(at.entry).with_context(|| at.to_string()));
    let matches = matches.collect::<Result<Vec<_>>>()?;
    let name = overrides.name.clone().or(name).unwrap_or_else(|| NAME.to_owned());
    let left_out = left_out(&placement);
    let data = json!({
        "policies": policies(&placement, &name)?,
        "left_out": left_out.iter().flat_map(|item| wrap(&format!("- {item}"), LINE)).collect::<Vec<_>>(),
        "namespaces": namespaces,
        "conditions": own_conditions(&policy).collect::<Vec<_>>(),
        "entry_matches": short_enough(format!("[\n  {}\n]", matches.join(",\n  ")))?,
        "entry": cel::first_that_holds("variables.entryMatches", count),
    });
    render("backstop.yml", TEMPLATE, data)
}

/// A ValidatingAdmissionPolicy for the entries that are enforced, and another one for those that only warn.
fn policies(placement: &Placement, name: &str) -> Result<Vec<Value>> {
    let mut policies = vec![];
    for (enforcement, suffix, action) in
        [(Enforcement::Enforce, "backstop", "Deny"), (Enforcement::Warn, "backstop-warn", "Warn")]
    {
        let (mut positions, mut validations) = (vec![], vec![]);
        for at in entries_at(placement).filter(|at| at.entry.enforcement == enforcement) {
            if let Some(selector) = &at.entry.required_node_selector {
                positions.push(at.position.to_string());
                let source = Source::Entry(at, Setting::RequiredNodeSelector).to_string();
                validations.extend(self::validations(at, selector, &source).context(source)?);
            }
        }
        if !positions.is_empty() {
            let (name, entries) = (format!("{name}-{suffix}"), cel::list(&positions));
            policies.push(json!({ "name": name, "action": action, "entries": entries, "validations": validations }));
        }
    }
    ensure!(
        !policies.is_empty(),
        "nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces, and no entry has one"
    );
    Ok(policies)
}

/// What a Pod must have in the namespaces of an entry, which has the `requiredNodeSelector`; `source` is where that is
/// demanded: `placement.namespaces[0].requiredNodeSelector (name "blue")`.
fn validations(at: EntryAt<'_>, selector: &str, source: &str) -> Result<Vec<Value>> {
    let elsewhere = format!("variables.entry != {} ||\n", at.position);
    let demanded = selector.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks_it = format!(
        "{source} demands {demanded} of nodes, which the Pod does not ask for; node-placement-policy adds it while \
         its policy-server answers, or add it to the Pod yourself"
    );
    let expression = short_enough(format!("{elsewhere}{}", cel::has_demanded(selector)?))?;
    let Some(can_be_filled_in) = cel::can_be_filled_in(selector)? else {
        return Ok(vec![json!({ "expression": expression, "message": lacks_it })]);
    };
    let can_be_filled_in = short_enough(format!("{elsewhere}{can_be_filled_in}"))?;
    let message = format!(
        "{source} demands {demanded} of nodes, but the namespace lacks a label that this refers to, or its value does \
         not fit; label the namespace"
    );
    Ok(vec![
        json!({ "expression": can_be_filled_in, "message": message }),
        json!({ "expression": expression, "message": lacks_it, "message_expression": cel::filled_in(&lacks_it) }),
    ])
}

fn short_enough(expression: String) -> Result<String> {
    ensure!(
        expression.chars().count() <= LONGEST_EXPRESSION,
        "an expression of the backstop is longer than the {LONGEST_EXPRESSION} characters that an API server reads: \
         name fewer values in the selectors"
    );
    Ok(expression)
}

/// What the policy does and the backstop does not.
fn left_out(placement: &Placement) -> Vec<String> {
    let setting = |is_set: bool, text: &str| is_set.then(|| text.to_owned());
    let field = |field: &str| {
        let has_it = |entry: &NamespaceEntry| {
            let selectors = entry.node_selectors().map(|(own, _)| own);
            selectors.chain(entry.toleration_lists().map(|(own, _)| own)).any(|own| own.to_string() == field)
        };
        entries_where(placement, has_it).map(|entries| format!("{field} of {entries}"))
    };
    let unfenced = entries_where(placement, |entry| entry.required_node_selector.is_none());
    let matches_all = |entry: &NamespaceEntry| entry.name.as_deref() == Some("*") && entry.namespace_selector.is_none();
    let left_out = [
        setting(
            !placement.namespace_annotations.0.is_empty(),
            "node selectors in annotations of namespaces (placement.namespaceAnnotations)",
        ),
        setting(placement.cluster_default_node_selector.is_some(), "placement.clusterDefaultNodeSelector"),
        field("defaultNodeSelector"),
        field("allowedNodeSelector"),
        setting(placement.cluster_default_tolerations.is_some(), "placement.clusterDefaultTolerations"),
        field("defaultTolerations"),
        field("allowedTolerations"),
        field("forbiddenTolerations"),
        setting(
            placement.honors_toleration_annotations(),
            "tolerations in annotations of namespaces (placement.onTolerationAnnotations)",
        ),
        setting(placement.on_extended_resources == OnExtendedResources::Tolerate, "placement.onExtendedResources"),
        unfenced.map(|entries| format!("Pods of {entries}, without a requiredNodeSelector")),
        setting(!placement.namespaces.iter().any(matches_all), "Pods in namespaces that no entry matches"),
    ];
    left_out.into_iter().flatten().collect()
}

/// `placement.namespaces[0, 3]`: the entries for which something holds.
fn entries_where(placement: &Placement, holds: impl Fn(&NamespaceEntry) -> bool) -> Option<String> {
    let entries = entries_at(placement).filter(|at| holds(at.entry));
    let positions: Vec<String> = entries.map(|at| at.position.to_string()).collect();
    (!positions.is_empty()).then(|| format!("placement.namespaces[{}]", positions.join(", ")))
}
