//! A backstop: a ValidatingAdmissionPolicy, which the API server evaluates itself, lets in only Pods that have what
//! `requiredNodeSelector` demands. So that holds while no policy-server answers, too.
//!
//! - `entry`: which namespaces an entry of the settings is about
//! - `demand`: what a Pod must have there
//! - `cel`: the language of both
//! - `backstop.yml.j2`: the file around them

mod cel;
mod demand;
mod entry;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::{
    api::admissionregistration::v1::MatchCondition,
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement},
};
use node_placement_policy::settings::{
    Enforcement, EntryAt, NamespaceEntry, OnExtendedResources, OnTolerationAnnotations, Placement, Source,
};
use serde_json::{Value, json};

use super::overrides::{KUBEWARDEN, NAME, Overrides, excludes_kubewarden, exempting};
use super::policy_file::own_conditions;
use crate::{SettingsFile, input::documents::yaml_documents, output::template::render, wrap};

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
/// The file has something else, or `overrides` a mistake; or there is no backstop for these settings.
pub fn backstop_file(text: &str, overrides: &Overrides) -> Result<String> {
    overrides.validate()?;
    let mut files = SettingsFile::read_all(yaml_documents(text)?)?;
    files.retain(|file| file.typed.placement.is_some() && !file.is_about_nodes());
    ensure!(files.len() <= 1, "expected one policy that places Pods; found {}", files.len());
    let Some(SettingsFile { name, policy, typed, .. }) = files.pop() else {
        bail!("nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces");
    };
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
    let name = overrides.name.clone().or(name).unwrap_or_else(|| NAME.to_owned());
    let conditions = own_conditions(&policy).cloned().collect();
    Backstop { name, placement: typed.placement.unwrap_or_default(), namespaces, conditions }.write()
}

/// What a backstop is written for.
struct Backstop {
    /// The name of the policy that it stands behind.
    name: String,
    /// What that policy demands.
    placement: Placement,
    /// The namespaces that it covers.
    namespaces: Vec<LabelSelectorRequirement>,
    /// What else keeps Pods away from that policy.
    conditions: Vec<MatchCondition>,
}

impl Backstop {
    /// Writes it: a ValidatingAdmissionPolicy and its binding for the entries that are enforced, and another two for
    /// those that only warn.
    fn write(&self) -> Result<String> {
        let count = self.placement.namespaces.len();
        ensure!(
            count <= MOST_ENTRIES,
            "placement.namespaces: a backstop can have at most {MOST_ENTRIES} entries; found {count}. One entry can \
             serve many tenants: refer to a label of their namespaces"
        );
        let matches = self.entries().map(|at| entry::matches(at.entry).with_context(|| at.to_string()));
        let entry_matches = cel::lines(&matches.collect::<Result<Vec<_>>>()?);
        ensure_short_enough(&entry_matches)?;
        let mut policies = vec![];
        for (enforcement, suffix, action) in
            [(Enforcement::Enforce, "backstop", "Deny"), (Enforcement::Warn, "backstop-warn", "Warn")]
        {
            let (mut positions, mut validations) = (vec![], vec![]);
            for at in self.entries().filter(|at| at.entry.enforcement == enforcement) {
                let Some(selector) = &at.entry.required_node_selector else { continue };
                positions.push(at.position.to_string());
                let source = Source::Entry(at, "requiredNodeSelector").to_string();
                validations.extend(self::validations(at.position, selector, &source).context(source)?);
            }
            if positions.is_empty() {
                continue;
            }
            let name = format!("{}-{suffix}", self.name);
            let entries = cel::list(&positions);
            policies.push(json!({ "name": name, "action": action, "entries": entries, "validations": validations }));
        }
        ensure!(
            !policies.is_empty(),
            "nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces, and no entry has one"
        );
        let left_out = self.left_out();
        let data = json!({
            "policies": policies,
            "left_out": left_out.iter().flat_map(|item| wrap(&format!("- {item}"), LINE)).collect::<Vec<_>>(),
            "namespaces": self.namespaces,
            "conditions": self.conditions,
            "entry_matches": entry_matches,
            "entry": cel::first_that_holds("variables.entryMatches", count),
        });
        render("backstop.yml", TEMPLATE, data)
    }

    fn entries(&self) -> impl Iterator<Item = EntryAt<'_>> {
        let entries = self.placement.namespaces.iter().enumerate();
        entries.map(|(position, entry)| EntryAt { position, entry })
    }

    /// What the policy does and the backstop does not.
    fn left_out(&self) -> Vec<String> {
        let placement = &self.placement;
        let mut left_out = vec![];
        if !placement.namespace_annotations.0.is_empty() {
            left_out.push("node selectors in annotations of namespaces (placement.namespaceAnnotations)".to_owned());
        }
        if placement.cluster_default_node_selector.is_some() {
            left_out.push("placement.clusterDefaultNodeSelector".to_owned());
        }
        for field in ["defaultNodeSelector", "allowedNodeSelector"] {
            let entries = self.entries_where(|entry| entry.node_selectors().any(|(own, _)| own == field));
            left_out.extend(entries.map(|entries| format!("{field} of {entries}")));
        }
        if placement.cluster_default_tolerations.is_some() {
            left_out.push("placement.clusterDefaultTolerations".to_owned());
        }
        for field in ["defaultTolerations", "allowedTolerations", "forbiddenTolerations"] {
            let entries = self.entries_where(|entry| entry.toleration_lists().any(|(own, _)| own == field));
            left_out.extend(entries.map(|entries| format!("{field} of {entries}")));
        }
        if placement.on_toleration_annotations == OnTolerationAnnotations::Honor {
            left_out.push("tolerations in annotations of namespaces (placement.onTolerationAnnotations)".to_owned());
        }
        if placement.on_extended_resources == OnExtendedResources::Tolerate {
            left_out.push("placement.onExtendedResources".to_owned());
        }
        let unfenced = self.entries_where(|entry| entry.required_node_selector.is_none());
        left_out.extend(unfenced.map(|entries| format!("Pods of {entries}, without a requiredNodeSelector")));
        let matches_all =
            |entry: &NamespaceEntry| entry.name.as_deref() == Some("*") && entry.namespace_selector.is_none();
        if !self.placement.namespaces.iter().any(matches_all) {
            left_out.push("Pods in namespaces that no entry matches".to_owned());
        }
        left_out
    }

    /// `placement.namespaces[0, 3]`: the entries for which something holds.
    fn entries_where(&self, holds: impl Fn(&NamespaceEntry) -> bool) -> Option<String> {
        let entries = self.entries().filter(|at| holds(at.entry));
        let positions: Vec<String> = entries.map(|at| at.position.to_string()).collect();
        (!positions.is_empty()).then(|| format!("placement.namespaces[{}]", positions.join(", ")))
    }
}

/// What a Pod must have in the namespaces of the entry at `position`, which has the `requiredNodeSelector`; `source` is
/// where that is demanded: `placement.namespaces[0].requiredNodeSelector (name "blue")`.
fn validations(position: usize, selector: &str, source: &str) -> Result<Vec<Value>> {
    let elsewhere = format!("variables.entry != {position} ||\n");
    let demanded = selector.split_whitespace().collect::<Vec<_>>().join(" ");
    let message = format!(
        "{source} demands {demanded} of nodes, which the Pod does not ask for; node-placement-policy adds it while \
         its policy-server answers, or add it to the Pod yourself"
    );
    let expression = format!("{elsewhere}{}", demand::is_met(selector)?);
    ensure_short_enough(&expression)?;
    let Some(can_be_filled_in) = demand::can_be_filled_in(selector)? else {
        return Ok(vec![json!({ "expression": expression, "message": message })]);
    };
    let filled_in = cel::filled_in(&message);
    let refused = json!({ "expression": expression, "message": message, "message_expression": filled_in });
    let message = format!(
        "{source} demands {demanded} of nodes, but the namespace lacks a label that this refers to, or its value does \
         not fit; label the namespace"
    );
    let expression = format!("{elsewhere}{can_be_filled_in}");
    ensure_short_enough(&expression)?;
    Ok(vec![json!({ "expression": expression, "message": message }), refused])
}

fn ensure_short_enough(expression: &str) -> Result<()> {
    ensure!(
        expression.chars().count() <= LONGEST_EXPRESSION,
        "an expression of the backstop is longer than the {LONGEST_EXPRESSION} characters that an API server reads: \
         name fewer values in the selectors"
    );
    Ok(())
}
