//! The in-tree plugin's way to add tolerations, which drops those that others cover.

use std::collections::{BTreeMap, BTreeSet};

use super::{Effect, Operator, Toleration};

/// What became of a Pod's tolerations and of those that were to be added: first come those of the Pod's own that stay,
/// then what was added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// The positions of the Pod's own that stay, in ascending order.
    pub kept: Vec<usize>,
    /// What is appended.
    pub added: Vec<Toleration>,
}

/// Those tolerations that differ in nothing but what the plugin compares by itself: their seconds, and the value of
/// those that demand none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Alike<'t> {
    operator: &'t Operator,
    key: &'t str,
    effect: &'t Effect,
    value: &'t str,
}

/// Merges a Pod's `own` tolerations with those `to_add` (`MergeTolerations` in `pkg/util/tolerations`): one is dropped
/// if one that was kept [covers](Toleration::is_superset_of) it, or a later one that is not equal.
///
/// Upstream compares each with each. Since what covers is itself kept or covered by what is kept, it is enough to look
/// at the strongest of those few kinds that can cover one: the answers are the same, in time `n log n`.
pub fn merge(own: &[Toleration], to_add: &[Toleration]) -> Merged {
    let all: Vec<&Toleration> = own.iter().chain(to_add).collect();
    let strongest = strongest(&all);
    let mut seen = BTreeSet::new();
    let mut merged = Merged::default();
    for (position, toleration) in all.iter().enumerate() {
        let is_chosen = match toleration.operator {
            Operator::Equal | Operator::Exists => strongest.get(&Alike::to(toleration)) == Some(&position),
            // Of those alike, these cover only what is equal.
            Operator::Omitted | Operator::Other(_) => seen.insert(*toleration),
        };
        let mut others = Alike::that_cover(toleration).filter_map(|kind| all.get(*strongest.get(&kind)?));
        if !is_chosen || others.any(|other| other != toleration && other.is_superset_of(toleration)) {
            continue;
        }
        if position < own.len() {
            merged.kept.push(position);
        } else {
            merged.added.push((*toleration).clone());
        }
    }
    merged
}

impl Merged {
    /// A Pod's `own` tolerations as they are.
    pub fn nothing(own: &[Toleration]) -> Self {
        Self { kept: (0..own.len()).collect(), added: Vec::new() }
    }

    /// Whether the result is a Pod's `own` tolerations, even if one was dropped for an equal one that was added.
    pub fn changes_nothing(&self, own: &[Toleration]) -> bool {
        self.all(own).eq(own)
    }

    /// The tolerations that result, given the Pod's `own`.
    pub fn all<'t>(&'t self, own: &'t [Toleration]) -> impl Iterator<Item = &'t Toleration> {
        self.kept.iter().filter_map(|position| own.get(*position)).chain(&self.added)
    }
}

/// For each kind the position of the one that lasts longest. Of several that last as long, a later one wins only if it
/// differs from the one before it: of A, A, B, A, the last; of A, A, the first. So upstream has it.
fn strongest<'t>(all: &[&'t Toleration]) -> BTreeMap<Alike<'t>, usize> {
    let mut strongest: BTreeMap<Alike<'t>, usize> = BTreeMap::new();
    for (position, toleration) in all.iter().enumerate() {
        let so_far = strongest.entry(Alike::to(toleration)).or_insert(position);
        if let Some(other) = all.get(*so_far)
            && toleration != other
            && toleration.lasts_as_long_as(other)
        {
            *so_far = position;
        }
    }
    strongest
}

impl<'t> Alike<'t> {
    /// The kind of `toleration`.
    fn to(toleration: &'t Toleration) -> Self {
        let value = if toleration.operator == Operator::Exists { "" } else { &toleration.value };
        Self { operator: &toleration.operator, key: &toleration.key, effect: &toleration.effect, value }
    }

    /// The kinds of all that can cover `toleration` without being equal to it.
    fn that_cover(toleration: &'t Toleration) -> impl Iterator<Item = Self> {
        const EVERY: &Effect = &Effect::Omitted;
        let (key, value) = (toleration.key.as_str(), toleration.value.as_str());
        let of_effect = move |effect| {
            [
                Self { operator: &Operator::Exists, key, effect, value: "" },
                Self { operator: &Operator::Exists, key: "", effect, value: "" },
                Self { operator: &Operator::Equal, key, effect, value },
                Self { operator: &Operator::Omitted, key, effect, value },
            ]
        };
        of_effect(&toleration.effect).into_iter().chain(of_effect(EVERY))
    }
}
