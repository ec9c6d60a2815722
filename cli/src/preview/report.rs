//! The report for people: the sum first, then namespace by namespace, worst first.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    finding::{Finding, Verdict},
    phrases::{counted, some},
    tally::{Group, Tally},
};
use crate::{kubectl::Unreadable, wrap::wrap};

/// No line is longer, unless a single word is.
const WIDTH: usize = 100;
/// Where the text beside a heading begins.
const INDENT: usize = 13;

/// How many of a long list are shown.
struct Cut {
    namespaces: usize,
    groups: usize,
    names: usize,
}

const SHORT: Cut = Cut { namespaces: 10, groups: 5, names: 10 };
const VERBOSE: Cut = Cut { namespaces: usize::MAX, groups: usize::MAX, names: usize::MAX };

/// So many owners and nodes are named in a sentence; more are only counted.
const NAMED: usize = 3;

/// The whole report. Long lists are cut, with a count, unless it is to be `verbose`.
pub fn report(tally: &Tally, verbose: bool) -> String {
    let mut page = Page { text: String::new(), cut: if verbose { VERBOSE } else { SHORT }, verbose };
    page.sum(tally);
    page.namespaces(tally);
    page.without_rule(tally);
    page.not_told(tally);
    page.text
}

struct Page {
    text: String,
    cut: Cut,
    verbose: bool,
}

impl Page {
    fn sum(&mut self, tally: &Tally) {
        let verdicts = [Verdict::Unchanged, Verdict::Changed, Verdict::Rejected, Verdict::Unknown];
        let [unchanged, changed, rejected, unknown] = verdicts.map(|verdict| tally.total(verdict));
        let requests = unchanged + changed + rejected + unknown;
        let misplaced: usize = tally
            .findings
            .values()
            .flatten()
            .filter(|(finding, _)| rank(finding) == 1)
            .map(|(_, group)| group.size())
            .sum();
        self.line(&format!(
            "{}, as if everything were created now: {rejected} rejected, {changed} changed.",
            counted(requests, "request")
        ));
        match misplaced {
            0 => {}
            1 => self.line("1 Pod runs where it could not be bound again."),
            more => self.line(&format!("{more} Pods run where they could not be bound again.")),
        }
        self.line("");
        self.line(&format!("{:22}{:>10}{:>10}{:>10}{:>15}", "", "as it is", "changed", "rejected", "can't be told"));
        for (kind, counts) in &tally.sums {
            let [unchanged, changed, rejected, unknown] =
                verdicts.map(|verdict| counts.get(&verdict).copied().unwrap_or_default());
            self.line(&format!("{kind:22}{unchanged:>10}{changed:>10}{rejected:>10}{unknown:>15}"));
        }
        self.line("");
    }

    fn namespaces(&mut self, tally: &Tally) {
        let mut namespaces: Vec<_> = tally.findings.iter().collect();
        namespaces.sort_by_key(|(name, findings)| (findings.keys().next().map(rank), *name));
        for (name, findings) in namespaces.iter().take(self.cut.namespaces) {
            self.line(&format!("Namespace {name}"));
            self.findings(findings);
            self.line("");
        }
        let rest = namespaces.get(self.cut.namespaces..).unwrap_or_default();
        if !rest.is_empty() {
            let findings = rest.iter().flat_map(|(_, findings)| findings.iter());
            let count = |wanted: u8| -> usize {
                let groups = findings.clone().filter(|(finding, _)| rank(finding) == wanted);
                groups.map(|(_, group)| group.size()).sum()
            };
            self.wrapped(&format!(
                "… and {} more ({} rejected, {} misplaced, {} warned, {} changed). --verbose (VERBOSE=1) shows all.",
                counted(rest.len(), "namespace"),
                count(0),
                count(1),
                count(2),
                count(3),
            ));
            self.line("");
        }
    }

    fn findings(&mut self, findings: &BTreeMap<Finding, Group>) {
        for (finding, group) in findings.iter().take(self.cut.groups) {
            let who = self.who(group);
            let gets = if group.size() == 1 { "gets" } else { "get" };
            let runs = if group.size() == 1 { "runs" } else { "run" };
            match finding {
                Finding::Rejected { code, reason } => {
                    self.beside("REJECTED", &who);
                    self.beside("", &format!("{code}: {}", group.named(reason)));
                }
                Finding::Misplaced { reason } => {
                    let nodes = some(&group.nodes, "nodes", self.names());
                    let reason = group.named(reason);
                    self.beside("misplaced", &format!("{who} {runs} on {nodes}, and could not be bound there again:"));
                    self.beside("", &reason);
                }
                Finding::Warned { warning } => {
                    self.beside("warned", &who);
                    self.beside("", &group.named(warning));
                }
                Finding::Changed { gets: what } => {
                    self.beside("changed", &format!("{who} {gets} {}", what.join("; ")));
                }
            }
        }
        let rest = findings.len().saturating_sub(self.cut.groups);
        if rest > 0 {
            let of: usize = findings.values().skip(self.cut.groups).map(Group::size).sum();
            self.beside("", &format!("… and {rest} more of these, on {}", counted(of, "object")));
        }
    }

    fn without_rule(&mut self, tally: &Tally) {
        let without: BTreeSet<&String> =
            tally.has_rule.iter().filter(|(_, has_rule)| !**has_rule).map(|(name, _)| name).collect();
        let of = tally.has_rule.len();
        match without.len() {
            0 => {}
            all if all == of => self.line("No rule: the Pods of all namespaces may go anywhere, and ask for anything."),
            some => {
                self.line(&format!(
                    "No rule: in {some} of {of} namespaces, Pods may go anywhere, and ask for anything."
                ));
                self.list(without.into_iter().cloned().collect());
            }
        }
    }

    fn not_told(&mut self, tally: &Tally) {
        if !tally.missing.is_empty() {
            self.line("Can't be told, since the cluster as it is known here lacks:");
            let missing = tally.missing.iter();
            let missing = missing.map(|(what, count)| format!("{what} ({})", counted(*count, "request")));
            self.list(missing.collect());
        }
        for (reason, count) in &tally.spared {
            self.line(&format!("Not sent to the policy: {count}; {reason}."));
        }
        for Unreadable { resource, reason } in &tally.unreadable {
            self.wrapped(&format!("Can't be told: {resource} could not be listed: {reason}"));
        }
        for (condition, count) in &tally.unchecked {
            let requests = counted(*count, "request");
            self.wrapped(&format!(
                "Not evaluated: the policy's matchCondition {condition}; {requests} passed it untested."
            ));
        }
        if !tally.unasked.is_empty() {
            let kinds: Vec<_> = tally.unasked.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            self.line("Not the policy's business, skipped:");
            self.list(kinds);
        }
    }

    fn list(&mut self, items: Vec<String>) {
        let shown = items.iter().take(self.cut.names).cloned().collect::<Vec<_>>().join(", ");
        match items.len().saturating_sub(self.cut.names) {
            0 => self.beside_at(2, "", &shown),
            rest => self.beside_at(2, "", &format!("{shown} and {rest} more")),
        }
    }

    /// `12 Pods of Deployments api and web, Pod debug`.
    fn who(&self, group: &Group) -> String {
        let members = group.members.iter().map(|(kind, members)| members.describe(kind, self.names()));
        members.collect::<Vec<_>>().join(", ")
    }

    const fn names(&self) -> usize {
        if self.verbose { usize::MAX } else { NAMED }
    }

    fn beside(&mut self, heading: &str, text: &str) {
        self.beside_at(INDENT, heading, text);
    }

    fn beside_at(&mut self, indent: usize, heading: &str, text: &str) {
        let heading = if heading.is_empty() { String::new() } else { format!("  {heading}") };
        let mut heading = heading.as_str();
        for line in wrap(text, WIDTH - indent) {
            self.line(&format!("{heading:indent$}{line}"));
            heading = "";
        }
    }

    fn wrapped(&mut self, text: &str) {
        wrap(text, WIDTH).iter().for_each(|line| self.line(line));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

const fn rank(finding: &Finding) -> u8 {
    match finding {
        Finding::Rejected { .. } => 0,
        Finding::Misplaced { .. } => 1,
        Finding::Warned { .. } => 2,
        Finding::Changed { .. } => 3,
    }
}
