//! A backstop: a ValidatingAdmissionPolicy, which the API server evaluates itself, lets in only Pods that have what
//! `requiredNodeSelector` demands. So that holds while no policy-server answers, too.
//!
//! - `entry`: which namespaces an entry of the settings is about
//! - `demand`: what a Pod must have there
//! - `cel`: the language of both

mod cel;
mod demand;
mod entry;

use anyhow::{Context, Result, ensure};
use k8s_openapi::{
    api::admissionregistration::v1::{
        MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec, ValidatingAdmissionPolicySpec,
        Validation, Variable,
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement, ObjectMeta},
};
use node_placement_policy::settings::{
    Enforcement, EntryAt, NamespaceEntry, OnExtendedResources, OnTolerationAnnotations, Placement, Source,
};
use serde::Serialize;

use crate::wrap;

/// With more entries, nobody has tried whether an API server evaluates the expressions within its limits.
const MOST_ENTRIES: usize = 100;

/// The longest expression that CEL compiles, in characters (`expressionSizeCodePointLimit` of cel-go).
const LONGEST_EXPRESSION: usize = 100_000;

const LINE: usize = 118;

/// What a backstop is written for.
#[derive(Debug)]
pub struct Backstop<'s> {
    /// The name of the policy that it stands behind.
    pub name: &'s str,
    /// What that policy demands.
    pub placement: &'s Placement,
    /// The namespaces that it covers.
    pub namespaces: Vec<LabelSelectorRequirement>,
    /// What else it is to be asked about: the policy's conditions that are not about updates.
    pub conditions: Vec<MatchCondition>,
}

/// An entry with a `requiredNodeSelector`.
#[derive(Clone, Copy)]
struct Fence<'s> {
    at: EntryAt<'s>,
    selector: &'s str,
}

impl Backstop<'_> {
    /// Writes it: a ValidatingAdmissionPolicy and its binding for the entries that are enforced, and another two for
    /// those that only warn.
    ///
    /// # Errors
    /// There are too many entries, or none of them requires anything.
    pub fn write(&self) -> Result<String> {
        let count = self.placement.namespaces.len();
        ensure!(
            count <= MOST_ENTRIES,
            "placement.namespaces: a backstop can have at most {MOST_ENTRIES} entries; found {count}. One entry can \
             serve many tenants: refer to a label of their namespaces"
        );
        let fences = self.fences();
        ensure!(
            !fences.is_empty(),
            "nothing to hold: a backstop is about requiredNodeSelector of placement.namespaces, and no entry has one"
        );
        let (enforced, warning): (Vec<Fence<'_>>, Vec<Fence<'_>>) =
            fences.iter().partition(|fence| fence.at.entry.enforcement == Enforcement::Enforce);
        let mut documents = vec![];
        for (fences, suffix, action) in [(enforced, "backstop", "Deny"), (warning, "backstop-warn", "Warn")] {
            if fences.is_empty() {
                continue;
            }
            let name = format!("{}-{suffix}", self.name);
            let comments = if action == "Deny" { self.about_enforced() } else { about_warning() };
            documents.push(format!("{}{}", comment(&comments), to_yaml(&self.policy(&name, &fences)?)?));
            documents.push(to_yaml(&binding(&name, action))?);
        }
        Ok(documents.join("---\n"))
    }

    fn entries(&self) -> impl Iterator<Item = EntryAt<'_>> {
        let entries = self.placement.namespaces.iter().enumerate();
        entries.map(|(position, entry)| EntryAt { position, entry })
    }

    fn fences(&self) -> Vec<Fence<'_>> {
        let fences = self.entries().filter_map(|at| {
            let selector = at.entry.required_node_selector.as_deref()?;
            Some(Fence { at, selector })
        });
        fences.collect()
    }

    fn policy(&self, name: &str, fences: &[Fence<'_>]) -> Result<ValidatingAdmissionPolicy> {
        let mut validations = vec![named_node(fences)];
        for fence in fences {
            validations.extend(fence.validations().with_context(|| fence.source())?);
        }
        let variables = self.variables()?;
        let expressions = validations.iter().map(|validation| &validation.expression);
        for expression in expressions.chain(variables.iter().map(|variable| &variable.expression)) {
            ensure!(
                expression.chars().count() <= LONGEST_EXPRESSION,
                "an expression of the backstop is longer than the {LONGEST_EXPRESSION} characters that an API server \
                 reads: name fewer values in the selectors"
            );
        }
        let spec = ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                namespace_selector: Some(LabelSelector {
                    match_expressions: Some(self.namespaces.clone()),
                    match_labels: None,
                }),
                resource_rules: Some(vec![creation_of_pods()]),
                ..MatchResources::default()
            }),
            match_conditions: Some([&[not_a_mirror_pod()], self.conditions.as_slice()].concat()),
            variables: Some(variables),
            validations: Some(validations),
            ..ValidatingAdmissionPolicySpec::default()
        };
        Ok(ValidatingAdmissionPolicy { metadata: named(name), spec: Some(spec), status: None })
    }

    /// What the expressions use. An API server evaluates each once, and only if it is used.
    fn variables(&self) -> Result<Vec<Variable>> {
        let mut conditions = vec![];
        for at in self.entries() {
            conditions.push(entry::matches(at.entry).with_context(|| at.to_string())?);
        }
        let variables = [
            ("labels", "namespaceObject.metadata.?labels.orValue({})".to_owned()),
            ("entryMatches", cel::lines(&conditions)),
            ("entry", cel::first_that_holds("variables.entryMatches", conditions.len())),
            ("nodeSelector", "object.spec.?nodeSelector.orValue({})".to_owned()),
            ("terms", TERMS.to_owned()),
        ];
        Ok(variables.map(|(name, expression)| Variable { name: name.to_owned(), expression }).to_vec())
    }

    fn about_enforced(&self) -> Vec<String> {
        let mut lines = vec![
            "A backstop: the API server itself refuses Pods that lack what requiredNodeSelector demands. It needs no \
             policy-server, so it also holds during an outage, for requests that are too large for the policy-server, \
             without the policy's webhook, and after another webhook changed a Pod."
                .to_owned(),
            String::new(),
            "Apply it when the policy's mode is protect. Before that, Pods lack what it asks for, and are refused. \
             Write it again whenever the settings change. docs/operating.md says in which order to apply both."
                .to_owned(),
            String::new(),
            "It is about Pods when they are created, and does not check:".to_owned(),
        ];
        lines.extend(self.left_out().into_iter().map(|left_out| format!("- {left_out}")));
        lines
    }

    /// What the policy does and the backstop does not.
    fn left_out(&self) -> Vec<String> {
        let placement = self.placement;
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

impl Fence<'_> {
    /// Where it is demanded: `placement.namespaces[0].requiredNodeSelector (name "blue")`.
    fn source(&self) -> String {
        Source::Entry(self.at, "requiredNodeSelector").to_string()
    }

    fn validations(&self) -> Result<Vec<Validation>> {
        let elsewhere = format!("variables.entry != {} ||\n", self.at.position);
        let source = self.source();
        let selector = self.selector.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = format!(
            "{source} demands {selector} of nodes, which the Pod does not ask for; node-placement-policy adds it while \
             its policy-server answers, or add it to the Pod yourself"
        );
        let is_met = demand::is_met(self.selector)?;
        let mut refused = refusal(format!("{elsewhere}{is_met}"), message);
        let Some(can_be_filled_in) = demand::can_be_filled_in(self.selector)? else { return Ok(vec![refused]) };
        refused.message_expression = refused.message.as_deref().map(cel::filled_in);
        let message = format!(
            "{source} demands {selector} of nodes, but the namespace lacks a label that this refers to, or its value \
             does not fit; label the namespace"
        );
        Ok(vec![refusal(format!("{elsewhere}{can_be_filled_in}"), message), refused])
    }
}

/// The labels that each term of required node affinity is about. A term without expressions and fields matches no node,
/// and is passed over. A Pod without required node affinity is like one with a term that demands nothing.
const TERMS: &str = "\
object.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.hasValue() ?
object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])
  .filter(t, t.?matchExpressions.orValue([]).size() > 0 || t.?matchFields.orValue([]).size() > 0)
  .map(t, t.?matchExpressions.orValue([])) :
[[]]";

/// A mirror Pod reports a Pod that a kubelet already runs.
fn not_a_mirror_pod() -> MatchCondition {
    MatchCondition {
        name: "not-a-mirror-pod".to_owned(),
        expression: "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}) &&\n\
                     'system:nodes' in request.userInfo.?groups.orValue([]))"
            .to_owned(),
    }
}

/// No Node can be read here, so a Pod with `nodeName` can't be compared with its Node.
fn named_node(fences: &[Fence<'_>]) -> Validation {
    let positions: Vec<String> = fences.iter().map(|fence| fence.at.position.to_string()).collect();
    refusal(
        format!("!(variables.entry in {}) ||\nobject.spec.?nodeName.orValue('') == ''", cel::list(&positions)),
        "the Pod has spec.nodeName, and so no scheduler compares the node with the requiredNodeSelector of the \
         namespace; remove nodeName and let the scheduler choose"
            .to_owned(),
    )
}

/// What an API server answers with 403 if `expression` is false.
fn refusal(expression: String, message: String) -> Validation {
    let reason = Some("Forbidden".to_owned());
    Validation { expression, message: Some(message), reason, message_expression: None }
}

fn creation_of_pods() -> NamedRuleWithOperations {
    let one = |text: &str| Some(vec![text.to_owned()]);
    NamedRuleWithOperations {
        api_groups: one(""),
        api_versions: one("v1"),
        operations: one("CREATE"),
        resources: one("pods"),
        ..NamedRuleWithOperations::default()
    }
}

fn binding(policy: &str, action: &str) -> ValidatingAdmissionPolicyBinding {
    let spec = ValidatingAdmissionPolicyBindingSpec {
        policy_name: policy.to_owned(),
        validation_actions: vec![action.to_owned()],
        ..ValidatingAdmissionPolicyBindingSpec::default()
    };
    ValidatingAdmissionPolicyBinding { metadata: named(policy), spec }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() }
}

fn about_warning() -> Vec<String> {
    vec!["Entries with enforcement: Warn. Their Pods are let in, with a warning.".to_owned()]
}

fn comment(paragraphs: &[String]) -> String {
    let lines = paragraphs.iter().flat_map(|paragraph| match paragraph.as_str() {
        "" => vec![String::new()],
        paragraph => wrap(paragraph, LINE),
    });
    lines.map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

fn to_yaml(object: &impl Serialize) -> Result<String> {
    Ok(yaml_serde::to_string(object)?)
}
