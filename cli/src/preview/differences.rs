//! What other settings change.

use std::collections::HashMap;

use super::{Preview, Was};

impl Preview {
    /// This preview, with what differs from `old` alone, each with what it was.
    #[must_use]
    pub(super) fn compared_with(mut self, old: &Self) -> Self {
        let workloads: HashMap<_, _> = old
            .workloads
            .iter()
            .map(|was| ((&was.kind, &was.namespace, &was.name), Was { outcome: was.outcome, would_be: was.would_be }))
            .collect();
        self.workloads.retain_mut(|now| {
            now.was = workloads.get(&(&now.kind, &now.namespace, &now.name)).copied();
            now.was != Some(Was { outcome: now.outcome, would_be: now.would_be })
        });
        let namespaces: HashMap<_, _> = old
            .namespaces
            .iter()
            .map(|was| (&was.name, Was { outcome: was.outcome, would_be: was.would_be }))
            .collect();
        self.namespaces.retain_mut(|now| {
            now.was = namespaces.get(&now.name).copied();
            now.was != Some(Was { outcome: now.outcome, would_be: now.would_be })
        });
        self.compared = true;
        self
    }

    /// Whether a script that waits for this preview should stop: it is not ready; of a comparison, something got worse
    /// that is not wanted.
    pub fn is_bad(&self) -> bool {
        if !self.compared {
            return !self.verdict.ready;
        }
        let workloads = self.workloads.iter().map(|now| (now.was, now.outcome, now.would_be));
        let namespaces = self.namespaces.iter().map(|now| (now.was, now.outcome, now.would_be));
        workloads
            .chain(namespaces)
            .filter(|(_, outcome, _)| self.accepted.holds_up(*outcome))
            .any(|(was, outcome, would_be)| was.is_some_and(|was| was.got_worse(Was { outcome, would_be })))
    }
}
