//! The backstop: a ValidatingAdmissionPolicy. The API server itself refuses Pods that lack what `requiredNodeSelector`
//! requires, also while no policy-server answers.
//!
//! - `conditions`: whether a Pod has what an entry requires
//! - `backstop.yml.j2`: the file around that

mod conditions;

use anyhow::{Context, Result};
use node_placement_policy::settings::{Enforcement, EntryAt, Setting, Source};
use serde_json::{Value, json};

use super::{
    cel::{
        list,
        references::{can_be_filled_in, filled_in},
        requirements::{Required, templates},
        short_enough,
    },
    in_process::InProcess,
    large_objects::one_file,
    left_out,
    overrides::Overrides,
};
use crate::{input::settings::entries_at, template::render};

const TEMPLATE: &str = include_str!("backstop.yml.j2");

/// Writes the backstop of the policy that `policy` writes: for settings, or for the one policy in a file that places
/// Pods.
///
/// # Errors
/// The file has neither settings nor ClusterAdmissionPolicies, `overrides` has a mistake, there is no backstop for these
/// settings, or an API server would refuse it.
pub fn backstop_file(text: &str, overrides: &Overrides) -> Result<String> {
    let in_process = InProcess::read(text, overrides)?;
    let placement = &in_process.placement;
    let data = json!({
        "policies": policies(&in_process)?,
        "left_out": left_out::by_backstop(placement),
        "matching": in_process.matching()?,
    });
    one_file(&[render("backstop.yml", TEMPLATE, data)?])
}

/// Returns a ValidatingAdmissionPolicy for the entries that are enforced, and another one for those that only warn.
fn policies(in_process: &InProcess) -> Result<Vec<Value>> {
    let mut policies = vec![];
    for (enforcement, suffix, action) in
        [(Enforcement::Enforce, "backstop", "Deny"), (Enforcement::Warn, "backstop-warn", "Warn")]
    {
        let (mut positions, mut validations) = (vec![], vec![]);
        for at in entries_at(&in_process.placement).filter(|at| at.entry.enforcement == enforcement) {
            if let Some(selector) = &at.entry.required_node_selector {
                positions.push(at.position.to_string());
                let source = Source::Entry(at, Setting::RequiredNodeSelector).to_string();
                validations.extend(self::validations(at, selector, &source).context(source)?);
            }
        }
        if !positions.is_empty() {
            let (name, entries) = (in_process.name_with(suffix)?, list(&positions));
            policies.push(json!({ "name": name, "action": action, "entries": entries, "validations": validations }));
        }
    }
    Ok(policies)
}

/// Returns what a Pod must have in the namespaces of an entry, which has the `requiredNodeSelector`. `source` names that:
/// `placement.namespaces[0].requiredNodeSelector (name "blue")`.
fn validations(at: EntryAt<'_>, selector: &str, source: &str) -> Result<Vec<Value>> {
    let elsewhere = format!("variables.entry != {} ||\n", at.position);
    let written = selector.split_whitespace().collect::<Vec<_>>().join(" ");
    let lacks_it = format!(
        "{source} requires {written} of nodes, which the Pod does not request; node-placement-policy adds it while \
         its policy-server answers, or add it to the Pod yourself"
    );
    let required = Required::read(selector)?;
    let expression = short_enough(format!("{elsewhere}{}", conditions::has_all(&required)))?;
    let Some(condition) = can_be_filled_in(templates(&required)) else {
        return Ok(vec![json!({ "expression": expression, "message": lacks_it })]);
    };
    let condition = short_enough(format!("{elsewhere}{condition}"))?;
    let message = format!(
        "{source} requires {written} of nodes, but the namespace lacks a label that this refers to, or its value does \
         not fit; label the namespace"
    );
    Ok(vec![
        json!({ "expression": condition, "message": message }),
        json!({ "expression": expression, "message": lacks_it, "message_expression": filled_in(&lacks_it) }),
    ])
}
