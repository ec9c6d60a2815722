//! A preview as text.

use std::collections::BTreeMap;

use super::{
    matrix::matrix,
    rows::{ROWS, heading, note, places, shown},
    workloads::{NamespaceSection, Told, sections, untold},
};
use crate::{
    lists::{counted, shortened},
    output::terminal::wrap,
    preview::{Finding, Pool, Preview, Row},
};

/// Where the text beside an outcome begins.
const INDENT: usize = 16;
/// So many namespaces are told; the others are counted.
const NAMESPACES: usize = 20;
/// So many nodes, pools or namespaces are named.
const NAMED: usize = 6;

/// A preview for a terminal of `width` columns. `verbose` shows everything, however long.
pub fn text(preview: &Preview, width: usize, verbose: bool) -> String {
    let mut page = Page { width, verbose, lines: vec![] };
    page.wrapped(&preview.verdict.text, 0, 0);
    page.list("What to do", preview.advice.iter().map(|advice| &advice.text));
    page.rows(preview);
    page.workloads(preview);
    page.list("Also", &preview.remarks);
    page.lines.join("\n") + "\n"
}

struct Page {
    width: usize,
    verbose: bool,
    lines: Vec<String>,
}

impl Page {
    /// Breaks a text between words: the first line at `first`, the others at `indent`.
    fn wrapped(&mut self, text: &str, first: usize, indent: usize) {
        let room = self.width.saturating_sub(indent).max(1);
        for (place, line) in wrap(text, room).into_iter().enumerate() {
            let indent = if place == 0 { first } else { indent };
            self.lines.push(format!("{:indent$}{line}", ""));
        }
    }

    /// A line that begins with a word of its own column.
    fn beside(&mut self, word: &str, text: &str) {
        let before = self.lines.len();
        self.wrapped(text, 0, INDENT);
        if let Some(line) = self.lines.get_mut(before) {
            *line = format!("  {word:<pad$}{line}", pad = INDENT - 2);
        }
    }

    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.wrapped(text, 0, 2);
    }

    fn list<'t>(&mut self, title: &str, items: impl IntoIterator<Item = &'t String>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.heading(&format!("{title}:"));
        for item in items {
            self.wrapped(&format!("- {item}"), 2, 4);
        }
    }

    fn rows(&mut self, preview: &Preview) {
        if preview.rows.is_empty() || preview.compared {
            return;
        }
        self.heading("Who may run where (a new Pod that asks for nothing):");
        let (rows, cut) = shown(&preview.rows, if self.verbose { usize::MAX } else { ROWS });
        match matrix(&preview.pools, &rows, self.width) {
            Some(lines) => self.lines.extend(lines),
            None => rows.iter().for_each(|row| self.row(row, &preview.pools)),
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for row in cut {
            *counts.entry(row.entry.as_deref().unwrap_or("no entry")).or_default() += 1;
        }
        for (entry, count) in counts {
            let more = format!("… and {count} more rows of {entry}, all in order; --verbose shows them");
            self.wrapped(&more, 2, 4);
        }
    }

    fn row(&mut self, row: &Row, pools: &[Pool]) {
        self.wrapped(&heading(row, self.names(&row.namespaces)), 2, 4);
        if !row.selector.is_empty() {
            self.beside("  selector", &row.selector);
        }
        let places = places(row, pools);
        let places = if places.is_empty() { "nowhere".to_owned() } else { self.names(&places) };
        let note = note(row).filter(|_| !row.forecast.would_be);
        self.beside("  new Pods", &note.unwrap_or(places));
        if row.pods_there() + row.pods_elsewhere() > 0 {
            let elsewhere = row.pods_elsewhere();
            let elsewhere = if elsewhere > 0 { format!(", {elsewhere} elsewhere") } else { String::new() };
            self.beside("  Pods now", &format!("{} there{elsewhere}", row.pods_there()));
        }
    }

    fn workloads(&mut self, preview: &Preview) {
        let (told, quiet): (Vec<_>, Vec<_>) =
            sections(preview).into_iter().partition(|section| preview.compared || section.is_in_trouble());
        let limit = if self.verbose || preview.compared { usize::MAX } else { NAMESPACES };
        for section in told.iter().take(limit) {
            self.heading(&format!("Namespace {}", section.name));
            section.told.iter().for_each(|told| self.told(told));
        }
        self.cut(told.len().saturating_sub(limit));
        if preview.compared {
            if told.is_empty() {
                self.heading("Compared with the old settings, no outcome changes.");
            }
            return;
        }
        if !quiet.is_empty() {
            self.heading("Changed, and not moved by the policy:");
        }
        for NamespaceSection { name, told } in quiet.iter().take(limit) {
            let would_be = |told: &Told<'_>| if told.finding.forecast.would_be { " (would be)" } else { "" };
            let who: Vec<String> = told.iter().map(|told| format!("{}{}", told.who, would_be(told))).collect();
            self.wrapped(&format!("- {name}: {}", who.join("; ")), 2, 4);
        }
        self.cut(quiet.len().saturating_sub(limit));
        untold(preview).iter().for_each(|line| self.heading(line));
    }

    fn cut(&mut self, more: usize) {
        if more > 0 {
            self.heading(&format!("… and {}; --verbose shows all", counted(more, "more namespace")));
        }
    }

    fn told(&mut self, told: &Told<'_>) {
        let Finding { forecast, reason, .. } = told.finding;
        let was = told.was().map(|was| format!(" (before: {was})")).unwrap_or_default();
        self.beside(forecast.outcome.title(), &format!("{}{was}", told.who));
        match (reason, forecast.would_be) {
            (Some(reason), true) => self.wrapped(&format!("would be: {reason}"), INDENT, INDENT),
            (Some(reason), false) => self.wrapped(reason, INDENT, INDENT),
            (None, true) => self.wrapped("would be, with enforcement: Enforce", INDENT, INDENT),
            (None, false) => {}
        }
        if !told.nodes.is_empty() {
            let pods = counted(told.pods, "Pod");
            self.wrapped(&format!("nodes: {}; {pods} there now", self.names(told.nodes)), INDENT, INDENT);
        }
    }

    fn names(&self, names: &[String]) -> String {
        let short = shortened(names, NAMED).filter(|_| !self.verbose);
        short.unwrap_or_else(|| names.join(", "))
    }
}
