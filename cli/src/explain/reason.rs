//! Why a pool can't run a Pod: as a value, so that pools with the same reason are reported together.

use node_placement_policy::{
    selector::{Requirement, Selector, text},
    toleration::Taint,
};

use crate::{
    lists::listed,
    places::fit::{Exclusion, Fit as Answer, Has, LabelObstacle, Obstacle, Spec},
    rules::{Rule, RuleKind},
    webhook::deployment::Refusal,
    words::{exclusion, unevaluated},
};

/// Why a pool can't run a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    answer: Answer,
    /// Whether it is about nodes that Karpenter would create.
    is_of_node_pool: bool,
    /// The setting or annotation that requires the label.
    required_by: Option<String>,
}

impl Reason {
    /// Returns the reason that an answer contains; none, if the Pod can run there, now or later. `rules` are those of the
    /// Pod's namespace.
    pub fn new(answer: &Answer, is_of_node_pool: bool, rules: &[Rule]) -> Option<Self> {
        let required_by = match answer {
            _ if answer.is_accepted() => return None,
            Answer::No(Exclusion { what: Obstacle::Label(label), .. }) => required_by(&label.needs, rules),
            _ => None,
        };
        Some(Self { answer: answer.clone(), is_of_node_pool, required_by: required_by.map(str::to_owned) })
    }

    /// Returns how far a pool is from running the Pod: what only somebody else's nodes have comes last.
    pub fn distance(&self) -> usize {
        match &self.answer {
            Answer::Now | Answer::NotNow(_) | Answer::TooSmall(_) => 0,
            Answer::Unknown(_) => 1,
            Answer::Unbindable(_) => 2,
            Answer::No(Exclusion { what: Obstacle::Taints { .. }, .. }) => 3,
            Answer::No(_) if self.required_by.is_none() => 4,
            Answer::No(_) => 5,
        }
    }

    /// Returns whether two pools are excluded by the same thing: by a label, whatever other value they have of it; by
    /// taints with the same keys and effects.
    pub fn is_like(&self, other: &Self) -> bool {
        if self.is_of_node_pool != other.is_of_node_pool || self.required_by != other.required_by {
            return false;
        }
        match (&self.answer, &other.answer) {
            (Answer::No(own), Answer::No(other)) => own.by == other.by && are_alike(&own.what, &other.what),
            (Answer::Unbindable(own), Answer::Unbindable(other)) => kind(own) == kind(other),
            (own, other) => own == other,
        }
    }

    /// Words it for one pool.
    pub fn text(&self) -> String {
        let target = if self.is_of_node_pool { "NodePool" } else { "node" };
        match &self.answer {
            Answer::No(excluded) => match &excluded.what {
                Obstacle::Label(label) => {
                    let source = self.source(&excluded.by);
                    format!("{}{}{source}", exclusion(excluded, target), or_another_term(label))
                }
                _ => exclusion(excluded, target),
            },
            Answer::Unknown(why) => format!("could not be evaluated: {}", unevaluated(why)),
            Answer::Unbindable(refusal) => format!("the policy refuses to bind the Pod to it: {}", refusal.message),
            Answer::Now | Answer::NotNow(_) | Answer::TooSmall(_) => String::new(),
        }
    }

    /// Words it for several pools that have reasons like this one; `others` are those of the others.
    pub fn text_of_several(&self, others: &[&Self]) -> String {
        match &self.answer {
            Answer::No(Exclusion { by, what: Obstacle::Label(label) }) => {
                let class = match by {
                    Spec::RuntimeClass(class) => format!(", required by the RuntimeClass {class}"),
                    Spec::Pod | Spec::Template => String::new(),
                };
                format!("{}{}{class}{}", mismatch(label), or_another_term(label), self.source(by))
            }
            Answer::No(Exclusion { what: Obstacle::Taints { taints, for_a_time }, .. })
                if others.iter().any(|other| other.answer != self.answer) =>
            {
                let taints: Vec<String> = taints.iter().map(without_value).collect();
                let tolerated = if *for_a_time { "tolerates for some seconds only" } else { "does not tolerate" };
                format!("taints with values that the Pod {tolerated}: {}", listed(&taints))
            }
            Answer::Unbindable(refusal) => format!("the policy refuses to bind the Pod there: {}", refusal.message),
            _ => self.text(),
        }
    }

    /// Words where a label is required.
    fn source(&self, by: &Spec) -> String {
        match (&self.required_by, by) {
            (_, Spec::RuntimeClass(_)) => String::new(),
            (Some(source), _) => format!(", required by {source}"),
            (None, _) => ", which its manifest requests".to_owned(),
        }
    }
}

fn are_alike(one: &Obstacle, other: &Obstacle) -> bool {
    let names = |taints: &[Taint]| taints.iter().map(without_value).collect::<Vec<_>>();
    match (one, other) {
        (Obstacle::Label(one), Obstacle::Label(other)) => {
            one.needs == other.needs
                && one.terms == other.terms
                && (one.has == Has::Nothing) == (other.has == Has::Nothing)
        }
        (
            Obstacle::Taints { taints: one, for_a_time: one_for_a_time },
            Obstacle::Taints { taints: other, for_a_time: other_for_a_time },
        ) => one_for_a_time == other_for_a_time && names(one) == names(other),
        (one, other) => one == other,
    }
}

/// Returns what refusals of several Bindings have in common: their messages name the nodes.
fn kind(refusal: &Refusal) -> impl PartialEq + use<> {
    let cause = refusal.cause.clone().map(|cause| (cause.kind, cause.required, cause.label));
    (refusal.by.clone(), refusal.code, cause)
}

/// Returns a taint as `tenant:NoSchedule`.
fn without_value(taint: &Taint) -> String {
    Taint { value: String::new(), ..taint.clone() }.to_string()
}

/// Words that nodes lack a label, or have other values of it: `tenant≠blue`.
fn mismatch(label: &LabelObstacle) -> String {
    let (key, needs) = (label.key(), text(&label.needs));
    match (&label.has, label.needs.as_slice()) {
        (Has::Nothing, _) => format!("no label {key}, the Pod needs {needs}"),
        (_, [requirement]) if requirement.only_value().is_some() => {
            format!("{key}≠{}", requirement.only_value().unwrap_or_default())
        }
        _ => format!("other values of {key}, the Pod needs {needs}"),
    }
}

fn or_another_term(label: &LabelObstacle) -> String {
    match label.terms {
        0 | 1 => String::new(),
        terms => format!(", or to meet another of the {terms} terms of its node affinity"),
    }
}

/// Returns where one of these requirements comes from, if a setting or an annotation requires it.
fn required_by<'d>(needs: &[Requirement], rules: &'d [Rule]) -> Option<&'d str> {
    let is_needed = |requirement: &Requirement| needs.iter().any(|own| own.same_as(requirement));
    let requires = |rule: &&Rule| {
        rule.kind == RuleKind::Required && rule.selector.iter().flat_map(Selector::requirements).any(is_needed)
    };
    rules.iter().find(requires).map(Rule::place)
}
