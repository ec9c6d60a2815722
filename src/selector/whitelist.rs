//! Whitelists: what a selector allows others to ask for.

use super::{Operator, Requirement, Selector};

/// What a whitelist allows others to ask for. Empty allows everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whitelist(Selector);

impl Whitelist {
    /// The whitelist that `selector` states; none if it is empty, as in-tree.
    pub fn new(selector: Selector) -> Option<Self> {
        (!selector.is_empty()).then_some(Self(selector))
    }

    /// The whitelist as a selector.
    pub const fn selector(&self) -> &Selector {
        &self.0
    }

    /// Whether `key` may be asked to have `value`: some requirement names the key, and all that do accept the value.
    ///
    /// Upstream: `isSubset` of the `PodSelector` plugin, for sets.
    pub fn allows_value(&self, key: &str, value: &str) -> bool {
        self.names_and_all(key, |requirement| requirement.accepts(Some(value)))
    }

    /// Whether a node-affinity expression, or what a selector demands beyond pairs, may be asked for.
    ///
    /// A whitelist states sets of values, so what can select values outside of them is allowed only where it is stated
    /// word for word, or where the key may have any value.
    pub fn allows(&self, expression: &Requirement) -> bool {
        let key = expression.key();
        if self.0.on(key).iter().any(|requirement| requirement.same_as(expression)) {
            return true;
        }
        match expression.operator().as_set() {
            Operator::In => expression.values().iter().all(|value| self.allows_value(key, value)),
            Operator::DoesNotExist => false,
            _ => self.allows_any_value(key),
        }
    }

    /// Whether `key` may be asked to have any value: it is named, and by a bare key only.
    pub fn allows_any_value(&self, key: &str) -> bool {
        self.names_and_all(key, |own| own.operator() == Operator::Exists)
    }

    fn names_and_all(&self, key: &str, holds: impl Fn(&Requirement) -> bool) -> bool {
        let own = self.0.on(key);
        !own.is_empty() && own.iter().all(holds)
    }
}
