//! Who is asked: the policies of a deployment, one after the other.

use std::borrow::Cow;

use anyhow::{Result, bail};
use serde_json::Value;

use crate::{
    Answer, Evaluation, Manifests, Policy, PolicySpec, SettingsFile,
    requests::delivery::{Delivery, delivery},
};

/// Settings, and the policy around them, if there is one.
#[derive(Debug)]
pub struct Deployed<'t> {
    pub settings: Cow<'t, Value>,
    pub policy: Option<&'t PolicySpec>,
}

impl<'t> Deployed<'t> {
    /// What a file has.
    pub fn new(file: &'t SettingsFile) -> Self {
        Self { settings: Cow::Borrowed(&file.settings), policy: file.policy.as_ref() }
    }
}

/// Policies, and the cluster that they look things up in.
pub struct Asked<'a> {
    pub deployed: &'a [Deployed<'a>],
    pub cluster: &'a Manifests,
    pub policy: &'a Policy,
}

impl Asked<'_> {
    /// What all policies together say to a request, one after the other; and why none is asked, if none is.
    ///
    /// # Errors
    /// A policy fails to answer.
    pub fn answer(&self, request: &Value) -> Result<(Evaluation, Option<String>)> {
        let name = request["namespace"].as_str().unwrap_or_default();
        let namespace = self.cluster.namespace(name);
        let untouched = Answer { accepted: true, ..Answer::default() };
        let mut together = Evaluation { answer: untouched, ..Evaluation::default() };
        let (mut is_asked, mut not_asked) = (false, None);
        let mut request = request.clone();
        for Deployed { settings, policy } in self.deployed {
            match policy.map_or(Delivery::Sent, |policy| delivery(policy, &request, namespace)) {
                Delivery::Sent => {}
                Delivery::KeptAway(reason) => {
                    not_asked.get_or_insert(reason);
                    continue;
                }
                Delivery::Fails(reason) | Delivery::Unknown(reason) => {
                    bail!("nobody can tell whether the policy is asked: {reason}")
                }
            }
            is_asked = true;
            let evaluation = self.policy.validate(&request, settings, self.cluster.clone())?;
            if let Some(object) = &evaluation.answer.mutated_object {
                request["object"] = object.clone();
            }
            add(&mut together, evaluation);
            if !together.answer.accepted {
                break;
            }
        }
        Ok((together, not_asked.filter(|_| !is_asked)))
    }
}

/// What the next policy says, after those before it.
fn add(together: &mut Evaluation, next: Evaluation) {
    let Answer { accepted, message, code, mutated_object, audit_annotations, warnings } = next.answer;
    let answer = &mut together.answer;
    (answer.accepted, answer.message, answer.code) = (accepted, message, code);
    answer.mutated_object = mutated_object.or(answer.mutated_object.take());
    if let Some(annotations) = audit_annotations {
        answer.audit_annotations.get_or_insert_default().extend(annotations);
    }
    if let Some(warnings) = warnings {
        answer.warnings.get_or_insert_default().extend(warnings);
    }
    if let Some(mut patch) = next.patch {
        together.patch.get_or_insert_default().0.append(&mut patch.0);
    }
    together.cause = next.cause;
    together.lookups.extend(next.lookups);
    together.logs.extend(next.logs);
    together.refused.extend(next.refused);
}
