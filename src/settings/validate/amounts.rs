//! Finds settings that add more to every Pod than a Pod may have, so that every Pod would be rejected.

use std::collections::BTreeSet;

use super::Mistakes;
use crate::limits::{MOST_EXPRESSIONS, MOST_PAIRS, MOST_TERMS, MOST_TOLERATIONS};
use crate::selector::Selector;
use crate::settings::SettingPath;
use crate::toleration::{Toleration, missing};

/// A node selector that is added to Pods, and the path of its setting.
pub type Added<'s> = (SettingPath, &'s Selector);

/// Checks the node selectors that are added to each Pod: each alone, and all together. With `is_checked`, a whitelist
/// checks the pairs.
pub fn check_node_selectors(added: &[Added<'_>], is_checked: bool, mistakes: &mut Mistakes) {
    let mut all = Amount::default();
    for (path, selector) in added {
        let mut alone = Amount::default();
        alone.add(selector);
        all.add(selector);
        if let Some(problem) = alone.excess(is_checked).or_else(|| all.excess(is_checked)) {
            mistakes.add(path, &problem);
            return;
        }
    }
}

/// The amount that node selectors add to an empty Pod. Repeated requirements count once.
#[derive(Default)]
struct Amount {
    requirements: BTreeSet<String>,
    /// The pairs of its nodeSelector.
    pairs: usize,
    /// The expressions of its node affinity, and their values.
    expressions: usize,
}

impl Amount {
    fn add(&mut self, selector: &Selector) {
        for requirement in selector.requirements() {
            if !self.requirements.insert(requirement.identity()) {
                continue;
            }
            if requirement.only_value().is_some() {
                self.pairs += 1;
            } else {
                self.expressions += 1 + requirement.values().len();
            }
        }
    }

    fn excess(&self, is_checked: bool) -> Option<String> {
        let pairs = if is_checked { self.pairs } else { 0 };
        let expressions = excess(self.expressions, MOST_EXPRESSIONS, "expressions and values");
        expressions.or_else(|| excess(pairs, MOST_PAIRS, "pairs, which a whitelist checks,"))
    }
}

/// Checks the default tolerations at `path`.
pub fn check_tolerations(path: &SettingPath, tolerations: &[Toleration], mistakes: &mut Mistakes) {
    if tolerations.len() > MOST_TOLERATIONS {
        // A toleration that another one covers is not added.
        let added = missing(&[], tolerations.to_vec()).len();
        mistakes.add_if_some(path, excess(added, MOST_TOLERATIONS, "tolerations"));
    }
}

/// Checks the `preferred` selectors at `path`.
pub fn check_preferred(path: &SettingPath, preferred: &[Selector], mistakes: &mut Mistakes) {
    let sizes = preferred.iter().flat_map(Selector::requirements).map(|requirement| 1 + requirement.values().len());
    let terms = excess(preferred.len(), MOST_TERMS, "preferred terms");
    mistakes.add_if_some(path, terms.or_else(|| excess(sizes.sum(), MOST_EXPRESSIONS, "expressions and values")));
}

/// Returns the problem that `added` are more than the `most` that a Pod may have.
pub fn excess(added: usize, most: usize, what: &str) -> Option<String> {
    let problem = || {
        format!(
            "adds {added} {what} to each Pod, and a Pod with more than {most} is rejected: no Pod could be created; \
             remove some"
        )
    };
    (added > most).then(problem)
}
