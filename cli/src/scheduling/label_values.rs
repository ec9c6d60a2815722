//! Sets of values that a label may have, as Karpenter compares them.

use std::collections::BTreeSet;

use node_placement_policy::{placement::node_affinity::name_of, selector::Requirement};

/// The values that a label may have: those that are listed, or all but those; and of integers a range.
///
/// Upstream: `Requirement` of `sigs.k8s.io/karpenter/pkg/scheduling`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelValues {
    /// Whether `values` are those that it may not have.
    is_complement: bool,
    values: BTreeSet<String>,
    /// It must be an integer that is no less.
    least: Option<i64>,
    /// It must be an integer that is no greater.
    greatest: Option<i64>,
}

impl LabelValues {
    /// Any value, or none.
    pub fn any() -> Self {
        Self { is_complement: true, values: BTreeSet::new(), least: None, greatest: None }
    }

    /// This one.
    pub fn one(value: &str) -> Self {
        Self { is_complement: false, values: BTreeSet::from([value.to_owned()]), ..Self::any() }
    }

    /// Those that an operator of a NodePool's requirements allows: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`,
    /// `Gte`, `Lte`. Nothing, if there is no such operator, or the values don't fit it.
    pub fn read(operator: &str, values: &[String]) -> Option<Self> {
        let listed = || values.iter().cloned().collect::<BTreeSet<_>>();
        let integer = || match values {
            [value] => value.parse::<i64>().ok(),
            _ => None,
        };
        Some(match operator {
            "In" => Self { is_complement: false, values: listed(), ..Self::any() },
            "NotIn" => Self { values: listed(), ..Self::any() },
            "Exists" => Self::any(),
            "DoesNotExist" => Self { is_complement: false, ..Self::any() },
            "Gt" => Self { least: Some(integer()?.checked_add(1)?), ..Self::any() },
            "Gte" => Self { least: Some(integer()?), ..Self::any() },
            "Lt" => Self { greatest: Some(integer()?.checked_sub(1)?), ..Self::any() },
            "Lte" => Self { greatest: Some(integer()?), ..Self::any() },
            _ => return None,
        })
    }

    /// Those that a Pod's requirement allows.
    pub fn from_requirement(requirement: &Requirement) -> Option<Self> {
        Self::read(name_of(requirement.operator()), requirement.values())
    }

    /// Whether a label can be as both allow: with some value, or absent.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.and(other).allows_value() || self.allows_absence() && other.allows_absence()
    }

    /// Those that both allow.
    pub fn and(&self, other: &Self) -> Self {
        let values = match (self.is_complement, other.is_complement) {
            (true, true) => self.values.union(&other.values).cloned().collect(),
            (true, false) => other.values.difference(&self.values).cloned().collect(),
            (false, true) => self.values.difference(&other.values).cloned().collect(),
            (false, false) => self.values.intersection(&other.values).cloned().collect(),
        };
        Self {
            is_complement: self.is_complement && other.is_complement,
            values,
            least: self.least.max(other.least),
            greatest: match (self.greatest, other.greatest) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            },
        }
    }

    /// Whether the label may be absent: it is excluded, or some of its values are.
    pub fn allows_absence(&self) -> bool {
        match self.is_complement {
            true => !self.values.is_empty() && self.least.is_none() && self.greatest.is_none(),
            false => self.values.is_empty(),
        }
    }

    /// Whether the label can have a value.
    pub fn allows_value(&self) -> bool {
        self.some_value().is_some()
    }

    /// A value that the label can have, if it can have one.
    pub fn some_value(&self) -> Option<String> {
        if !self.is_complement {
            return self.values.iter().find(|value| self.is_in_range(value)).cloned();
        }
        let first = self.least.or(self.greatest).unwrap_or_default();
        // As many are excluded at most.
        let excluded = i64::try_from(self.values.len()).unwrap_or(i64::MAX);
        let step = if self.least.is_none() && self.greatest.is_some() { -1 } else { 1 };
        let values = (0..=excluded).filter_map(|index| first.checked_add(index.checked_mul(step)?));
        values.map(|value| value.to_string()).find(|value| self.is_in_range(value) && !self.values.contains(value))
    }

    /// A value that the label can have and that a requirement does not accept, if there is one.
    pub fn value_against(&self, requirement: &Requirement) -> Option<String> {
        let other = Self::read("NotIn", requirement.values()).and_then(|values| self.and(&values).some_value());
        let is_against = |value: &String| self.agrees_with(&Self::one(value)) && !requirement.accepts(Some(value));
        requirement.values().iter().chain(&self.values).cloned().chain(other).find(is_against)
    }

    /// How many values it can have, if they are listed.
    pub fn listed(&self) -> Option<usize> {
        (!self.is_complement).then(|| self.values.iter().filter(|value| self.is_in_range(value)).count())
    }

    /// The value that it must have, if there is only one.
    pub fn only_value(&self) -> Option<&str> {
        match (self.is_complement, self.values.len()) {
            (false, 1) => self.values.first().map(String::as_str),
            _ => None,
        }
    }

    /// As a requirement on `key`: `pool in (a,b)`.
    pub fn describe(&self, key: &str) -> String {
        match self.only_value() {
            Some(value) => format!("{key}={value}"),
            None => format!("{key} {}", self.values_as_text()),
        }
    }

    /// `in (a,b)`, `notin (a)`, `from 1 to 5`, `with any value`, `absent`.
    fn values_as_text(&self) -> String {
        let values = self.values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        match (self.is_complement, self.least, self.greatest) {
            (false, ..) if self.values.is_empty() => "absent".to_owned(),
            (false, ..) => format!("in ({values})"),
            (true, Some(least), Some(greatest)) => format!("from {least} to {greatest}"),
            (true, Some(least), None) => format!("at least {least}"),
            (true, None, Some(greatest)) => format!("at most {greatest}"),
            (true, None, None) if values.is_empty() => "with any value".to_owned(),
            (true, None, None) => format!("notin ({values})"),
        }
    }

    fn is_in_range(&self, value: &str) -> bool {
        if self.least.is_none() && self.greatest.is_none() {
            return true;
        }
        let Ok(value) = value.parse::<i64>() else { return false };
        self.least.is_none_or(|least| value >= least) && self.greatest.is_none_or(|greatest| value <= greatest)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn values(operator: &str, values: &[&str]) -> LabelValues {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        LabelValues::read(operator, &values).unwrap()
    }

    #[rstest]
    #[case::the_same(values("In", &["a"]), values("In", &["a", "b"]), true)]
    #[case::another(values("In", &["a"]), values("In", &["b"]), false)]
    #[case::all_but_it(values("In", &["a"]), values("NotIn", &["a"]), false)]
    #[case::all_but_another(values("In", &["a"]), values("NotIn", &["b"]), true)]
    #[case::any(values("In", &["a"]), values("Exists", &[]), true)]
    #[case::none(values("In", &["a"]), values("DoesNotExist", &[]), false)]
    #[case::in_range(values("In", &["4"]), values("Gt", &["3"]), true)]
    #[case::at_its_end(values("In", &["4"]), values("Gt", &["4"]), false)]
    #[case::at_its_end_included(values("In", &["4"]), values("Gte", &["4"]), true)]
    #[case::no_integer(values("In", &["a"]), values("Lt", &["4"]), false)]
    #[case::ranges_that_meet(values("Gte", &["4"]), values("Lte", &["4"]), true)]
    #[case::ranges_with_nothing_between(values("Gt", &["3"]), values("Lt", &["4"]), false)]
    #[case::all_of_a_range_excluded(values("Gte", &["4"]).and(&values("Lte", &["4"])), values("NotIn", &["4"]), false)]
    fn two_sets_have_a_value_in_common(#[case] one: LabelValues, #[case] other: LabelValues, #[case] expected: bool) {
        assert_eq!(one.and(&other).allows_value(), expected);
        assert_eq!(other.and(&one).allows_value(), expected);
    }

    #[rstest]
    #[case("In", &["a"], false)]
    #[case("NotIn", &["a"], true)]
    #[case("Exists", &[], false)]
    #[case("DoesNotExist", &[], true)]
    #[case("Gt", &["1"], false)]
    fn a_label_may_be_absent_where_it_is_excluded(#[case] operator: &str, #[case] listed: &[&str], #[case] may: bool) {
        assert_eq!(values(operator, listed).allows_absence(), may);
    }

    #[rstest]
    #[case("Between", &["a"])]
    #[case("Gt", &["a"])]
    #[case("Gt", &["1", "2"])]
    fn other_operators_are_none(#[case] operator: &str, #[case] values: &[&str]) {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        assert_eq!(LabelValues::read(operator, &values), None);
    }
}
