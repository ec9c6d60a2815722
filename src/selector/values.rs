//! Finds contradictions: requirements on one label that no value meets, nor its absence.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use super::{Operator, Requirement, Selector};

/// The values of a label that meet some requirements, or its absence. Every text counts as a value.
///
/// Kubernetes has no such notion: a Pod that nothing can meet waits for a node.
#[derive(Clone, Debug)]
pub struct PossibleValues<'r> {
    /// Whether the label may be missing.
    absence: bool,
    /// The values, sorted. `None` if every text is possible that the other fields don't exclude.
    only: Option<Vec<&'r str>>,
    except: BTreeSet<&'r str>,
    /// The integers between the bounds, if there are bounds.
    integers: Option<RangeInclusive<i64>>,
}

impl<'r> PossibleValues<'r> {
    /// Returns the values that meet all of `requirements`, which are on the same label.
    pub fn of(requirements: impl IntoIterator<Item = &'r Requirement>) -> Self {
        let mut possible = Self { absence: true, only: None, except: BTreeSet::new(), integers: None };
        for requirement in requirements {
            possible.narrow(requirement);
        }
        if let Some(mut only) = possible.only.take() {
            only.retain(|value| possible.accepts(value));
            possible.only = Some(only);
        }
        possible
    }

    fn narrow(&mut self, requirement: &'r Requirement) {
        self.absence &= requirement.accepts(None);
        match requirement.operator().as_set() {
            Operator::Exists => {}
            Operator::DoesNotExist => self.only = Some(Vec::new()),
            Operator::NotIn | Operator::NotEquals => {
                self.except.extend(requirement.values().iter().map(String::as_str));
            }
            Operator::In | Operator::Equals | Operator::DoubleEquals => match &mut self.only {
                Some(only) => only.retain(|value| requirement.accepts(Some(value))),
                None => self.only = Some(requirement.values().iter().map(String::as_str).collect()),
            },
            Operator::GreaterThan | Operator::LessThan => {
                self.integers = common(self.integers.as_ref(), integers_of(requirement).as_ref());
            }
        }
    }

    /// Removes all values except `value`.
    pub fn narrow_to(&mut self, value: &'r str) {
        self.absence = false;
        self.only = Some(if self.accepts(value) { vec![value] } else { Vec::new() });
    }

    /// Returns the possible values, sorted, if they can be listed.
    pub fn listed(&self) -> Option<&[&'r str]> {
        self.only.as_deref()
    }

    /// Returns whether only integers are possible.
    pub const fn are_integers(&self) -> bool {
        self.integers.is_some()
    }

    /// Returns whether nothing is possible.
    pub fn is_empty(&self) -> bool {
        !self.absence
            && match &self.only {
                Some(only) => only.is_empty(),
                // There is always a text that is not excluded, and another spelling of an integer.
                None => self.integers.as_ref().is_some_and(RangeInclusive::is_empty),
            }
    }

    /// Returns whether a value, or the absence, is possible in both. Compares the listed values of one, and adds their number
    /// to `comparisons`.
    pub fn overlaps(&self, other: &Self, comparisons: &mut usize) -> bool {
        if self.absence && other.absence {
            return true;
        }
        let (listed, accepting) = match (&self.only, &other.only) {
            (Some(listed), _) => (listed, other),
            (None, Some(others)) => (others, self),
            (None, None) => {
                let integers = common(self.integers.as_ref(), other.integers.as_ref());
                return !integers.is_some_and(|integers| integers.is_empty());
            }
        };
        let overlap = listed.iter().position(|value| accepting.accepts(value));
        *comparisons += overlap.unwrap_or(listed.len());
        overlap.is_some()
    }

    /// Returns whether every possible value is possible in `other` too.
    pub fn is_within(&self, other: &Self) -> bool {
        if self.is_empty() {
            return true;
        }
        if self.absence && !other.absence {
            return false;
        }
        match (&self.only, &other.only) {
            (Some(listed), _) => listed.iter().all(|value| other.accepts(value)),
            // No value is possible, only the absence.
            (None, _) if self.integers.as_ref().is_some_and(RangeInclusive::is_empty) => true,
            (None, Some(_)) => false,
            (None, None) => {
                // The bounds of `other` must not narrow the integers further.
                other.except.iter().all(|value| !self.accepts(value))
                    && self.integers == common(self.integers.as_ref(), other.integers.as_ref())
            }
        }
    }

    fn accepts(&self, value: &str) -> bool {
        // Compares the bounds first: it is the cheapest test.
        self.integers.as_ref().is_none_or(|integers| value.parse().is_ok_and(|integer| integers.contains(&integer)))
            && self.only.as_ref().is_none_or(|only| only.binary_search(&value).is_ok())
            && !self.except.contains(value)
    }
}

/// Returns the integers that meet `requirement`, if it has a bound.
fn integers_of(requirement: &Requirement) -> Option<RangeInclusive<i64>> {
    let bound = requirement.bound()?;
    // No integer is beyond the last one.
    let none = (1, 0);
    let (least, most) = match requirement.operator() {
        Operator::GreaterThan => bound.checked_add(1).map_or(none, |least| (least, i64::MAX)),
        _ => bound.checked_sub(1).map_or(none, |most| (i64::MIN, most)),
    };
    Some(least..=most)
}

/// Returns the integers in both ranges. `None` stands for every text.
fn common(one: Option<&RangeInclusive<i64>>, other: Option<&RangeInclusive<i64>>) -> Option<RangeInclusive<i64>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(*one.start().max(other.start())..=*one.end().min(other.end())),
        (bounds, None) | (None, bounds) => bounds.cloned(),
    }
}

impl Selector {
    /// Returns the requirements on the first label that contradict each other.
    pub fn contradiction(&self) -> Option<&[Requirement]> {
        self.by_label().find(|requirements| PossibleValues::of(*requirements).is_empty())
    }

    /// Returns whether `other` selects all labels that this selects.
    ///
    /// ```
    /// use node_placement_policy::selector::parse;
    ///
    /// let narrow = parse("pool in (a, b), tenant").unwrap();
    /// assert!(narrow.implies(&parse("pool in (a, b, c)").unwrap()));
    /// assert!(!narrow.implies(&parse("pool=a").unwrap()));
    /// ```
    pub fn implies(&self, other: &Self) -> bool {
        let is_implied = |requirements: &[Requirement]| {
            let on_label = requirements.first().map(|first| self.on(first.key())).unwrap_or_default();
            PossibleValues::of(on_label).is_within(&PossibleValues::of(requirements))
        };
        self.contradiction().is_some() || other.by_label().all(is_implied)
    }

    /// Returns the requirements of both selectors on the first label where they contradict each other.
    pub fn contradiction_with<'s>(&'s self, other: &'s Self) -> Option<(&'s [Requirement], &'s [Requirement])> {
        for requirements in self.by_label() {
            let others = requirements.first().map(|first| other.on(first.key())).unwrap_or_default();
            if PossibleValues::of(requirements.iter().chain(others)).is_empty() {
                return Some((requirements, others));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::selector::parse;

    #[rstest::rstest]
    #[case::one_value("a=x", "a", true)]
    #[case::one_of_several("a=x", "a in (x,y)", true)]
    #[case::several_of_one("a in (x,y)", "a=x", false)]
    #[case::absence("!a", "a!=x", true)]
    #[case::presence("a", "a!=x", false)]
    #[case::presence_and_other("a,a!=x", "a notin (x)", true)]
    #[case::fewer_excluded("a!=x", "a notin (x,y)", false)]
    #[case::more_excluded("a notin (x,y)", "a!=x", true)]
    #[case::narrower_bounds("a>4", "a>3", true)]
    #[case::wider_bounds("a>3", "a>4", false)]
    #[case::bounds_are_values("a>3", "a", true)]
    #[case::bounds_exclude_text("a>3", "a!=x", true)]
    #[case::bounds_include_an_integer("a>3", "a!=5", false)]
    #[case::one_label_of_two("a=x,b=y", "b", true)]
    #[case::another_label("a=x", "b", false)]
    #[case::everything("a=x", "", true)]
    #[case::nothing_implies_all("a=x,a=y", "b", true)]
    fn implication(#[case] one: &str, #[case] other: &str, #[case] expected: bool) {
        assert_eq!(parse(one).unwrap().implies(&parse(other).unwrap()), expected);
    }
}
