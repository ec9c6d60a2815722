//! Whitelists: what a selector allows others to ask for.

use super::{Operator, Requirement, Selector};

/// What others may ask for: what a selector states, of which an empty one states nothing; and what is demanded of them
/// anyway.
///
/// ```
/// use node_placement_policy::selector::{Whitelist, parse};
///
/// let whitelist = Whitelist::new(parse("zone in (a, b), disk").unwrap(), Vec::new());
/// assert!(whitelist.allows_value("zone", "a") && whitelist.allows_value("disk", "ssd"));
/// assert!(!whitelist.allows_value("zone", "c") && !whitelist.allows_value("pool", "blue"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whitelist {
    selector: Selector,
    /// What may be asked for without being stated.
    demanded: Vec<Requirement>,
}

impl Whitelist {
    /// The whitelist that `selector` states; what is `demanded` is always allowed.
    pub const fn new(selector: Selector, demanded: Vec<Requirement>) -> Self {
        Self { selector, demanded }
    }

    /// The whitelist as a selector.
    pub const fn selector(&self) -> &Selector {
        &self.selector
    }

    /// Whether nothing may be asked for but what is demanded.
    pub const fn is_empty(&self) -> bool {
        self.selector.is_empty()
    }

    /// Whether `key` may be asked to have `value`: that is demanded, or some requirement names the key, and all that do
    /// accept the value.
    ///
    /// Upstream: `isSubset` of the `PodNodeSelector` plugin, for sets.
    pub fn allows_value(&self, key: &str, value: &str) -> bool {
        self.demands_value(key, value) || self.states_value(key, value)
    }

    /// Whether a node-affinity expression, or what a selector demands beyond pairs, may be asked for.
    ///
    /// A whitelist states sets of values, so what can select values outside of them is allowed only where it is stated
    /// word for word, or where the key may have any value.
    pub fn allows(&self, expression: &Requirement) -> bool {
        let key = expression.key();
        if self.demands(expression) || self.selector.on(key).iter().any(|own| own.same_as(expression)) {
            return true;
        }
        match expression.operator().as_set() {
            Operator::In => expression.values().iter().all(|value| self.states_value(key, value)),
            Operator::DoesNotExist => false,
            _ => self.allows_any_value(key),
        }
    }

    /// Whether `key` may be asked to have any value: it is named, and by a bare key only.
    pub fn allows_any_value(&self, key: &str) -> bool {
        self.names_and_all(key, |own| own.operator() == Operator::Exists)
    }

    /// Whether this requirement is demanded, however it is spelled, whatever is stated.
    pub fn demands(&self, requirement: &Requirement) -> bool {
        self.demanded.iter().any(|own| own.same_as(requirement))
    }

    /// Whether `key` is demanded to have `value`, whatever is stated.
    pub fn demands_value(&self, key: &str, value: &str) -> bool {
        self.demanded.iter().any(|own| own.key() == key && own.only_value() == Some(value))
    }

    fn states_value(&self, key: &str, value: &str) -> bool {
        self.names_and_all(key, |requirement| requirement.accepts(Some(value)))
    }

    fn names_and_all(&self, key: &str, holds: impl Fn(&Requirement) -> bool) -> bool {
        let own = self.selector.on(key);
        !own.is_empty() && own.iter().all(holds)
    }
}
