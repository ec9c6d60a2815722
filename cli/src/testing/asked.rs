//! Who is asked: the policies of a deployment, one after the other.

use anyhow::{Result, bail};
use serde_json::Value;

use crate::{
    Answer, Evaluation, Manifests, Policy, SettingsFile,
    engine::{call::Record, policy_chain::Admission},
};

/// Policies, and the cluster that they look things up in.
pub struct Asked<'a> {
    pub policies: &'a [SettingsFile],
    pub cluster: &'a Manifests,
    pub policy: &'a Policy,
}

impl Asked<'_> {
    /// What all policies together say to a request; and why none is asked, if none is.
    ///
    /// # Errors
    /// A policy fails to answer, or nobody can tell whether it is asked.
    pub fn answer(&self, request: &Value) -> Result<(Evaluation, Option<String>)> {
        let Admission { evaluations, not_sent, unknown } =
            Admission::review(self.policy, self.policies, request.clone(), self.cluster, self.cluster.clone())?;
        if let Some(gap) = unknown {
            bail!("it can't be told what becomes of it: {}", gap.advice());
        }
        let untouched = Answer { accepted: true, ..Answer::default() };
        let mut together = Evaluation { answer: untouched, ..Evaluation::default() };
        evaluations.into_iter().for_each(|(_, evaluation)| add(&mut together, evaluation));
        Ok((together, not_sent))
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
    let Record { lookups, logs, refused, cause } = next.record;
    together.record.cause = cause;
    together.record.lookups.extend(lookups);
    together.record.logs.extend(logs);
    together.record.refused.extend(refused);
}
