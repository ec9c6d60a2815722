use super::Outcome;

/// Namespaces that are alike, and where their Pods may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What makes them alike: `tenant=blue`, or their names.
    pub name: String,
    /// What the entry that holds is for, or `None` where no entry holds.
    pub entry: Option<String>,
    /// The namespaces.
    pub namespaces: Vec<String>,
    /// The node selector that holds for them; empty if there is none.
    pub selector: String,
    /// What becomes of a Pod that asks for nothing.
    pub outcome: Outcome,
    /// Whether it only would be so.
    pub would_be: bool,
    /// What keeps it from the policy, if something does.
    pub kept_away: Option<String>,
    /// For every pool, whether it takes a Pod that asks for nothing.
    pub takes: Vec<bool>,
    /// For every pool, how many Pods of these namespaces run there.
    pub pods: Vec<usize>,
    /// How many Pods run on nodes of no pool.
    pub lost: usize,
}

impl Row {
    /// How many of their Pods run in pools that take a Pod that asks for nothing.
    pub fn pods_there(&self) -> usize {
        self.pods.iter().zip(&self.takes).filter(|(_, takes)| **takes).map(|(pods, _)| pods).sum()
    }

    /// How many of their Pods run elsewhere.
    pub fn pods_elsewhere(&self) -> usize {
        self.lost + self.pods.iter().sum::<usize>() - self.pods_there()
    }

    /// Whether there is nothing to say about it but where its Pods run.
    pub fn is_sound(&self) -> bool {
        !self.outcome.is_trouble() && !self.would_be && self.pods_elsewhere() == 0
    }
}
