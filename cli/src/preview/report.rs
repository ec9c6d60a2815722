//! The report for people: the sum first, then namespace by namespace, worst first.

use std::collections::BTreeMap;

use super::{
    advice::advice,
    changes::{Changes, Findings, Moved},
    entries::EntryCount,
    finding::{Cause, Finding, Verdict},
    phrases::{counted, names},
    table::table,
    tally::{Group, Tally},
};
use crate::{input::kubectl::Unreadable, output::wrap::wrap};

/// No line is longer, unless a single word is, or a table.
pub const WIDTH: usize = 100;
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

/// What there is to report, worst first.
pub const KINDS_OF_FINDINGS: [&str; 6] = ["rejected", "misplaced", "waits", "would be", "warned", "changed"];

/// Places in [`KINDS_OF_FINDINGS`] that are asked for.
pub const REJECTED: usize = 0;
pub const MISPLACED: usize = 1;
pub const WAITS: usize = 2;
const WOULD_BE: usize = 3;

/// The place of a finding among its kinds.
pub const fn rank(finding: &Finding) -> usize {
    match finding {
        Finding::Rejected { .. } => REJECTED,
        Finding::Misplaced { .. } => MISPLACED,
        Finding::Waits { .. } => WAITS,
        Finding::WouldBe { .. } => WOULD_BE,
        Finding::Warned { .. } => 4,
        Finding::Changed { .. } => 5,
    }
}

/// What comes first.
pub fn headline(tally: &Tally) -> String {
    let verdicts = [Verdict::Unchanged, Verdict::Changed, Verdict::Rejected, Verdict::Unknown];
    let [unchanged, changed, rejected, unknown] = verdicts.map(|verdict| tally.total(verdict));
    let requests = counted(unchanged + changed + rejected + unknown, "request");
    let mut counts = format!("{rejected} rejected, {changed} changed");
    let waiting = tally.count_of(|finding| rank(finding) == WAITS);
    if waiting > 0 {
        counts.push_str(&format!(", {} would wait", counted(waiting, "Pod")));
    }
    if !tally.unlabelled.is_empty() {
        counts.push_str(&format!(", {} without a fence", counted(tally.unlabelled.len(), "namespace")));
    }
    format!("{requests}, as if everything were created now: {counts}.")
}

/// What comes next, a line each.
pub fn summary(tally: &Tally) -> Vec<String> {
    let pods = |count, one: &str, more: &str| match count {
        0 => None,
        1 => Some(format!("1 Pod {one}")),
        count => Some(format!("{count} Pods {more}")),
    };
    let count = |kind| tally.count_of(|finding| rank(finding) == kind);
    let entries = |what: &str, is_meant: fn(&EntryCount) -> bool| {
        let count = tally.entries.iter().filter(|entry| is_meant(entry)).count();
        let (entries, matches) = if count == 1 { ("entry", "matches") } else { ("entries", "match") };
        (count > 0).then(|| format!("{count} {entries} of placement.namespaces {matches} no {what}."))
    };
    let unlabelled = counted(tally.unlabelled.len(), "namespace");
    let seem = if tally.unlabelled.len() == 1 { "seems" } else { "seem" };
    let unlabelled = format!("{unlabelled} {seem} to lack a label: {}.", names(tally.unlabelled.keys(), NAMED));
    let lines = [
        entries("namespace", |entry| entry.namespaces.is_empty()),
        (!tally.unlabelled.is_empty()).then_some(unlabelled),
        entries("node", |entry| entry.problem.is_some()),
        rejected(tally),
        pods(
            count(MISPLACED),
            "runs on a node where a replacement could not run.",
            "run on nodes where their replacements could not run.",
        ),
        pods(
            count(WAITS),
            "would wait if it were created again: no node would take it.",
            "would wait if they were created again: no node would take them.",
        ),
        match count(WOULD_BE) {
            0 => None,
            would_be => {
                Some(format!("{} under enforcement: Warn: told as what it would be.", counted(would_be, "object")))
            }
        },
    ];
    lines.into_iter().flatten().collect()
}

/// `Rejected: 1 Deployment, 2 Pods.`
fn rejected(tally: &Tally) -> Option<String> {
    let of_kind = tally.sums.iter().filter_map(|(kind, counts)| Some((kind, *counts.get(&Verdict::Rejected)?)));
    let kinds: Vec<String> = of_kind.map(|(kind, count)| counted(count, kind)).collect();
    (!kinds.is_empty()).then(|| format!("Rejected: {}.", kinds.join(", ")))
}

/// The sentence about the objects of a finding.
pub fn sentence(finding: &Finding, group: &Group, nodes: &str) -> String {
    let (gets, runs) = if group.size() == 1 { ("gets", "runs") } else { ("get", "run") };
    match finding {
        Finding::Rejected { code, reason, cause: Cause::RuntimeClass { name, adds, .. } } => {
            format!("{code}: {} (RuntimeClass {name} adds {adds})", group.named(reason))
        }
        Finding::Rejected { code, reason, .. } => format!("{code}: {}", group.named(reason)),
        Finding::Misplaced { reason } => {
            format!("{runs} on {nodes}, where a replacement could not run: {}", group.named(reason))
        }
        Finding::Waits { reason } if nodes.is_empty() => reason.clone(),
        Finding::Waits { reason } => format!("{reason}; running now on {nodes}"),
        Finding::WouldBe { what } => group.named(what),
        Finding::Warned { warning } => group.named(warning),
        Finding::Changed { gets: what } => format!("{gets} {}", what.join("; ")),
    }
}

/// The namespaces in which nothing is demanded or forbidden, and the sentence about them; no names, where these are all.
pub fn without_rule(tally: &Tally) -> Option<(String, Vec<String>)> {
    let without = tally.has_rule.iter().filter(|(_, has_rule)| !**has_rule).map(|(name, _)| name.clone());
    let without: Vec<String> = without.collect();
    let of = tally.has_rule.len();
    match without.len() {
        0 => None,
        all if all == of => Some(("No rule holds for the Pods of any namespace.".to_owned(), vec![])),
        some => {
            let line = format!("No rule holds for Pods in {some} of {of} namespaces:");
            Some((line, without.into_iter().map(|name| why_without_rule(tally, name)).collect()))
        }
    }
}

/// `default (no entry matches)`: another thing than an entry that demands nothing.
fn why_without_rule(tally: &Tally, name: String) -> String {
    if tally.without_entry.contains_key(&name) && !tally.entries.is_empty() {
        return format!("{name} (no entry matches)");
    }
    match tally.entries.iter().find(|entry| entry.namespaces.contains(&name)) {
        Some(entry) => format!("{name} (placement.namespaces[{}] has no rules)", entry.position),
        None => name,
    }
}

/// `2 rejected, 7 changed`
pub fn counts<'f>(findings: impl Iterator<Item = (&'f Finding, &'f Group)> + Clone) -> String {
    let counts = KINDS_OF_FINDINGS.iter().enumerate().filter_map(|(kind, word)| {
        let groups = findings.clone().filter(|(finding, _)| rank(finding) == kind);
        let count: usize = groups.map(|(_, group)| group.size()).sum();
        (count > 0).then(|| format!("{count} {word}"))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// The first line about what other settings change.
pub fn headline_of_changes(changes: &Changes) -> String {
    if changes.is_empty() {
        return "The new settings change nothing in this cluster.".to_owned();
    }
    let moved: usize = changes.moved.iter().map(|moved| moved.namespaces.len()).sum();
    let counts = |findings: &Findings| counts(findings.values().flatten());
    let mut parts = vec![];
    for (title, counts) in [("New", counts(&changes.new)), ("No longer", counts(&changes.gone))] {
        if !counts.is_empty() {
            parts.push(format!("{title}: {counts}."));
        }
    }
    if moved > 0 {
        parts.push(format!("{} may use other nodes.", counted(moved, "namespace")));
    }
    parts.join(" ")
}

/// What is unknown, not sent, or skipped: a sentence each, and what it lists.
pub fn not_told(tally: &Tally) -> Vec<(String, Vec<String>)> {
    let mut told = vec![];
    if !tally.missing.is_empty() {
        let missing = tally.missing.iter().map(|(what, count)| format!("{what} ({})", counted(*count, "request")));
        told.push(("Unknown, because the input lacks:".to_owned(), missing.collect()));
    }
    let mut tell = |line: String| told.push((line, vec![]));
    for (reason, count) in &tally.spared {
        tell(format!("Not sent to the policy: {count}; {reason}."));
    }
    for Unreadable { resource, reason, .. } in &tally.unreadable {
        tell(format!("Unknown: {resource} could not be listed: {reason}"));
    }
    for (condition, count) in &tally.unchecked {
        let requests = counted(*count, "request");
        tell(format!("Not evaluated: the policy's matchCondition {condition}; {requests} passed it untested."));
    }
    if !tally.unasked.is_empty() {
        let kinds = tally.unasked.iter().map(|(kind, count)| format!("{kind} ({count})"));
        told.push(("Skipped, because the policy does not handle these kinds:".to_owned(), kinds.collect()));
    }
    told
}

/// What other settings change.
pub fn report_of_changes(changes: &Changes, verbose: bool) -> String {
    let mut page = Page { text: String::new(), cut: if verbose { VERBOSE } else { SHORT }, verbose };
    page.wrapped(&headline_of_changes(changes));
    if changes.is_empty() {
        return page.text;
    }
    page.line("");
    for Moved { namespaces, gained, lost } in &changes.moved {
        page.line(&format!("Namespaces {}", names(namespaces, page.cut.names)));
        for (what, nodes) in
            [("new nodes", gained), ("lost nodes", lost)].into_iter().filter(|(_, nodes)| !nodes.is_empty())
        {
            page.beside(what, &names(nodes, page.cut.names));
        }
        page.line("");
    }
    for (title, findings) in [("New with these settings", &changes.new), ("No longer", &changes.gone)] {
        if !findings.is_empty() {
            page.line(&format!("{title}:"));
            page.line("");
            page.namespaces(findings);
        }
    }
    page.text
}

/// The whole report, with a table of `width`. Long lists are cut, with a count, unless it is to be `verbose`.
pub fn report(tally: &Tally, verbose: bool, width: usize) -> String {
    let mut page = Page { text: String::new(), cut: if verbose { VERBOSE } else { SHORT }, verbose };
    page.line(&headline(tally));
    summary(tally).iter().for_each(|line| page.line(line));
    page.line("");
    page.advice(tally);
    page.pools(tally, width);
    page.entries(tally);
    page.sum(tally);
    page.namespaces(&tally.findings);
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
        self.line(&format!("{:22}{:>10}{:>10}{:>10}{:>10}", "", "unchanged", "changed", "rejected", "unknown"));
        for (kind, counts) in &tally.sums {
            let [unchanged, changed, rejected, unknown] =
                verdicts.map(|verdict| counts.get(&verdict).copied().unwrap_or_default());
            self.line(&format!("{kind:22}{unchanged:>10}{changed:>10}{rejected:>10}{unknown:>10}"));
        }
        self.line("");
    }

    fn advice(&mut self, tally: &Tally) {
        self.line("What to do:");
        for line in advice(tally) {
            self.beside_at(4, "-", &line);
        }
        self.line("");
    }

    fn pools(&mut self, tally: &Tally, width: usize) {
        let lines = table(&tally.pools, width, self.verbose);
        if lines.is_empty() {
            return;
        }
        self.line("Who may run where: Pods that run there now, and a new Pod of the namespace that asks for nothing.");
        lines.iter().for_each(|line| self.line(line));
        self.line("");
    }

    /// Those that come to nothing first.
    fn entries(&mut self, tally: &Tally) {
        if tally.entries.is_empty() {
            return;
        }
        self.line("Namespaces and nodes that each entry matches:");
        for entry in tally.entries.iter().take(self.cut.names) {
            let nodes = match entry.nodes {
                Some(nodes) => format!(", {}", counted(nodes, "node")),
                None if entry.namespaces.is_empty() => String::new(),
                None => format!(", {}", entry.nodes_in_words(!tally.pools.pools.is_empty())),
            };
            let namespaces = counted(entry.namespaces.len(), "namespace");
            self.beside_at(2, "", &format!("{}: {namespaces}{nodes}", entry.name()));
        }
        let rest = tally.entries.len().saturating_sub(self.cut.names);
        if rest > 0 {
            self.beside_at(2, "", &format!("… and {}", counted(rest, "more entry").replace("entrys", "entries")));
        }
        self.line("");
    }

    fn namespaces(&mut self, findings: &Findings) {
        let mut namespaces: Vec<_> = findings.iter().collect();
        namespaces.sort_by_key(|(name, findings)| (findings.keys().next().map(rank), *name));
        for (name, findings) in namespaces.iter().take(self.cut.namespaces) {
            self.line(&format!("Namespace {name}"));
            self.findings(findings);
            self.line("");
        }
        let rest = namespaces.get(self.cut.namespaces..).unwrap_or_default();
        if !rest.is_empty() {
            let counts = counts(rest.iter().flat_map(|(_, findings)| findings.iter()));
            let more = counted(rest.len(), "namespace");
            self.wrapped(&format!("… and {more} more ({counts}). --verbose (VERBOSE=1) shows all."));
            self.line("");
        }
    }

    fn findings(&mut self, findings: &BTreeMap<Finding, Group>) {
        for (finding, group) in findings.iter().take(self.cut.groups) {
            let who = self.who(group);
            let heading = if rank(finding) == REJECTED { "REJECTED" } else { KINDS_OF_FINDINGS[rank(finding)] };
            let sentence = sentence(finding, group, &names(&group.nodes, self.names()));
            match finding {
                // The objects are the subject of the sentence.
                Finding::Changed { .. } | Finding::Misplaced { .. } => {
                    self.beside(heading, &format!("{who} {sentence}"));
                }
                _ => {
                    self.beside(heading, &who);
                    self.beside("", &sentence);
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
        if let Some((line, namespaces)) = without_rule(tally) {
            self.line(&line);
            self.list(namespaces);
        }
    }

    fn not_told(&mut self, tally: &Tally) {
        for (line, items) in not_told(tally) {
            self.wrapped(&line);
            self.list(items);
        }
    }

    fn list(&mut self, items: Vec<String>) {
        if items.is_empty() {
            return;
        }
        self.beside_at(2, "", &names(&items, self.cut.names));
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
