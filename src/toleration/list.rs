//! Lists of tolerations that are searched.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::cmp::Ordering;
use std::ops::Deref;

use super::{Taint, Toleration};
use crate::limits::SHORT_LIST;
use crate::selector::sorted_positions;

/// A list of tolerations. A long list gets an index by key and value when it is searched often: a Pod may have a thousand
/// tolerations, each of which is searched in a list of a thousand, and their keys may begin or end alike.
#[derive(Clone, Debug, Default)]
pub struct Tolerations<'s> {
    list: Cow<'s, [Toleration]>,
    /// The number of searches without the index.
    searches: Cell<usize>,
    /// The positions in `list`, in the order of [`sort_key`], without those of repeated tolerations.
    sorted: OnceCell<Vec<usize>>,
    /// The same list without keys, in which tolerations of every key are searched.
    without_keys: OnceCell<Box<Tolerations<'static>>>,
}

/// Orders tolerations by key, by the value that they compare, and by everything else.
fn sort_key(toleration: &Toleration) -> (&str, Option<&str>, &Toleration) {
    (&toleration.key, toleration.compared_value(), toleration)
}

impl<'s> Tolerations<'s> {
    /// Returns a list that is not searched yet.
    pub fn new(list: impl Into<Cow<'s, [Toleration]>>) -> Self {
        Self { list: list.into(), ..Self::default() }
    }

    /// Returns whether one of them is written like `toleration`.
    pub fn contains(&self, toleration: &Toleration) -> bool {
        match self.sorted() {
            Some(sorted) => !self.narrowed(sorted, &|listed| sort_key(listed).cmp(&sort_key(toleration))).is_empty(),
            None => self.list.contains(toleration),
        }
    }

    /// Returns whether one of them [is the same](Toleration::same_as) as `toleration`.
    pub fn has_same(&self, toleration: &Toleration) -> bool {
        let values = [toleration.compared_value()];
        self.position(&[&toleration.key], &values, &|listed| listed.same_as(toleration)).is_some()
    }

    /// Returns whether one of them [covers](Toleration::covers) `toleration`.
    pub fn covers(&self, toleration: &Toleration) -> bool {
        self.first_covering(toleration).is_some()
    }

    /// Returns the position of the first that covers `toleration`.
    fn first_covering(&self, toleration: &Toleration) -> Option<usize> {
        let values = [None, toleration.compared_value()];
        self.position(&[&toleration.key, ""], &values, &|listed| listed.covers(toleration))
    }

    /// Returns the first that [overlaps](Toleration::overlaps) `toleration`.
    pub fn first_overlapping(&self, toleration: &Toleration) -> Option<&Toleration> {
        let (keys, values) = ([toleration.key.as_str(), ""], [None, toleration.compared_value()]);
        let overlaps = |listed: &Toleration| listed.overlaps(toleration);
        // A toleration that compares no value overlaps whatever value is compared.
        let values = if toleration.compares_values() { values.as_slice() } else { &[] };
        let position = if toleration.key.is_empty() && self.list.len() > SHORT_LIST {
            self.without_keys().position(&[""], values, &overlaps)
        } else {
            self.position(&keys, values, &overlaps)
        };
        self.list.get(position?)
    }

    fn without_keys(&self) -> &Tolerations<'static> {
        self.without_keys.get_or_init(|| {
            let without_key = |listed: &Toleration| Toleration { key: String::new(), ..listed.clone() };
            Box::new(Tolerations::new(self.list.iter().map(without_key).collect::<Vec<_>>()))
        })
    }

    /// Returns whether one of them [tolerates](Toleration::tolerates) `taint`.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        self.position(&[&taint.key, ""], &[None, Some(&taint.value)], &|listed| listed.tolerates(taint)).is_some()
    }

    /// Returns the position of the first toleration that `matches`. It must have one of these `keys`, and compare one of
    /// these `values`. Without `values`, it may compare any.
    fn position(&self, keys: &[&str], values: &[Option<&str>], matches: &dyn Fn(&Toleration) -> bool) -> Option<usize> {
        let Some(sorted) = self.sorted() else { return self.list.iter().position(matches) };
        let mut first = None;
        let mut search = |positions: &[usize]| {
            let is_match = |position: &&usize| self.list.get(**position).is_some_and(matches);
            // Those with equal keys and values are not in the order of the list.
            let earliest = positions.iter().filter(is_match).min().copied();
            first = first.into_iter().chain(earliest).min();
        };
        for key in keys {
            let of_key = self.narrowed(sorted, &|listed| listed.key.as_str().cmp(key));
            if values.is_empty() {
                search(of_key);
            }
            for value in values {
                search(self.narrowed(of_key, &|listed| listed.compared_value().cmp(value)));
            }
        }
        first
    }

    /// Returns the positions for which `compare` is equal. `positions` are in its order.
    fn narrowed<'p>(&self, positions: &'p [usize], compare: &dyn Fn(&Toleration) -> Ordering) -> &'p [usize] {
        let order = |position: &usize| self.list.get(*position).map_or(Ordering::Equal, compare);
        let from = positions.partition_point(|position| order(position) == Ordering::Less);
        let positions = positions.get(from..).unwrap_or_default();
        let to = positions.partition_point(|position| order(position) == Ordering::Equal);
        positions.get(..to).unwrap_or_default()
    }

    /// Returns the index, or `None` if the list is short, or was searched a few times only.
    fn sorted(&self) -> Option<&[usize]> {
        if self.list.len() <= SHORT_LIST {
            return None;
        }
        let searches = self.searches.get();
        if searches < SHORT_LIST {
            self.searches.set(searches + 1);
            return None;
        }
        Some(self.sorted.get_or_init(|| {
            let key_of = |position: usize| self.list.get(position).map(sort_key);
            let is_before = |one: usize, other: usize| key_of(one) <= key_of(other);
            let mut sorted = sorted_positions(self.list.len(), &is_before);
            // Of repeated ones the first is kept. An annotation may have the same toleration 700 times.
            sorted.dedup_by(|one, before| self.list.get(*one) == self.list.get(*before));
            sorted
        }))
    }

    /// Returns the most comparisons that so many searches take.
    pub fn comparisons(&self, searches: usize) -> usize {
        let length = self.list.len();
        if length <= SHORT_LIST {
            return searches * (1 + length);
        }
        // In the index, the first and the last of two keys are searched.
        let steps = 1 + length.checked_ilog2().unwrap_or_default() as usize;
        (4 * searches + length) * steps
    }
}

impl Deref for Tolerations<'_> {
    type Target = [Toleration];

    fn deref(&self) -> &[Toleration] {
        &self.list
    }
}

/// Returns those of `wanted` that must be appended to those that are `present`, in order. Omits those that one of these, or one before,
/// [covers](Toleration::covers).
pub fn missing(present: &[Toleration], wanted: Vec<Toleration>) -> Vec<Toleration> {
    let (present, wanted) = (Tolerations::new(present), Tolerations::new(wanted));
    let mut missing = Vec::new();
    for (position, toleration) in wanted.iter().enumerate() {
        // If an earlier one is omitted, another covers it, and covers this one too.
        let is_first = || wanted.first_covering(toleration).is_none_or(|first| first >= position);
        if !present.covers(toleration) && is_first() {
            missing.push(toleration.clone());
        }
    }
    missing
}

/// Returns the first of `taints` that keeps away a Pod with these `tolerations`: its effect is `NoSchedule` or
/// `NoExecute`, and none tolerates it (`FindMatchingUntoleratedTaint`).
pub fn untolerated<'t>(tolerations: &[Toleration], taints: impl IntoIterator<Item = &'t Taint>) -> Option<&'t Taint> {
    let tolerations = Tolerations::new(tolerations);
    taints.into_iter().find(|taint| taint.keeps_pods_away() && !tolerations.tolerates(taint))
}
