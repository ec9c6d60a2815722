//! A preview as text for a terminal.

use std::collections::BTreeMap;

use comfy_table::{ColumnConstraint::LowerBoundary, ContentArrangement, Table, Width, presets::UTF8_FULL_CONDENSED};

use super::view::{
    Group, NAMED, ROWS, Section, answer, counts, cut, fit_in_a_table, name, nodes, note, pools_that_accept, rows,
    sections, short_sections,
};
use crate::{
    lists::{counted, shortened},
    preview::{OutcomeEntry, Pool, Preview, Row},
    text::wrap,
};

/// Where the text beside an outcome begins.
const INDENT: usize = 16;
/// At most this many sections are shown; the others are counted.
const SECTIONS: usize = 12;
/// More namespaces in which something is changed, and nothing is wrong, are one line.
const QUIET: usize = 6;
/// Beside the text of a cell, and its border.
const PADDING: usize = 3;

/// Writes a preview for a terminal of `width` columns. `verbose` shows everything, however long.
pub fn text(preview: &Preview, width: usize, verbose: bool) -> String {
    let mut page = Page { width, verbose, lines: vec![] };
    page.wrapped("", &preview.verdict.text, 0);
    preview.verdict.notes.iter().for_each(|note| page.wrapped("", note, 0));
    page.list("What to do", preview.advice.iter().map(|advice| &advice.text));
    page.rows(preview);
    page.workloads(preview);
    if verbose {
        page.list("Wrong before, and still", &preview.still_wrong);
    }
    page.list("Also", &preview.remarks);
    page.lines.join("\n") + "\n"
}

struct Page {
    width: usize,
    verbose: bool,
    lines: Vec<String>,
}

impl Page {
    /// Breaks a text between words: the first line stands behind `before`, the others at `indent`.
    fn wrapped(&mut self, before: &str, text: &str, indent: usize) {
        let lines = wrap(text, self.width.saturating_sub(indent).max(1));
        let spaces = " ".repeat(indent);
        for (index, line) in lines.into_iter().enumerate() {
            self.lines.push(format!("{}{line}", if index == 0 { before } else { &spaces }));
        }
    }

    /// Prints a text with a word in a column of its own before it. A word that is too long for the column has a line of
    /// its own.
    fn beside(&mut self, word: &str, text: &str) {
        let is_too_long = word.len() > INDENT - 3;
        if is_too_long {
            self.lines.push(format!("  {word}"));
        }
        let word = if is_too_long { "" } else { word };
        self.wrapped(&format!("  {word:<pad$}", pad = INDENT - 2), text, INDENT);
    }

    fn heading(&mut self, text: &str) {
        self.lines.push(String::new());
        self.wrapped("", text, 2);
    }

    fn list<'t>(&mut self, title: &str, items: impl IntoIterator<Item = &'t String>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_none() {
            return;
        }
        self.heading(&format!("{title}:"));
        for item in items {
            self.wrapped("  ", &format!("- {item}"), 4);
        }
    }

    fn rows(&mut self, preview: &Preview) {
        if preview.rows.is_empty() || preview.is_comparison() {
            return;
        }
        self.heading("Who may run where (a new Pod that requests nothing):");
        let (shown, more) = rows(preview, if self.verbose { usize::MAX } else { ROWS });
        let (single, merged): (Vec<&Row>, Vec<&Row>) = shown.into_iter().partition(|row| row.tenants.is_empty());
        match table(&preview.pools, &single, self.width) {
            Some(lines) => self.lines.extend(lines),
            None => single.iter().for_each(|row| self.row(row, &preview.pools)),
        }
        merged.iter().for_each(|row| self.row(row, &preview.pools));
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for row in more {
            *counts.entry(row.entry.as_deref().unwrap_or("no entry")).or_default() += 1;
        }
        for (entry, count) in counts {
            let more = format!("… and {count} more rows of {entry}, all in order; --verbose shows them");
            self.wrapped("  ", &more, 4);
        }
    }

    fn row(&mut self, row: &Row, pools: &[Pool]) {
        self.wrapped("  ", &heading(row, &self.names(&row.namespaces)), 4);
        if !row.selector.is_empty() {
            self.beside("  selector", &row.selector);
        }
        if row.tenants.is_empty() {
            let pools = pools_that_accept(row, pools);
            let pools = if pools.is_empty() { "nowhere".to_owned() } else { self.names(&pools) };
            self.beside("  new Pods", &note(row).filter(|_| !row.forecast.would_be).unwrap_or(pools));
        } else {
            self.beside("  namespaces", &self.names(&row.namespaces));
        }
        match (row.pods_there, row.pods_elsewhere) {
            (0, 0) => {}
            (there, 0) => self.beside("  Pods now", &format!("{there} there")),
            (there, elsewhere) => self.beside("  Pods now", &format!("{there} there, {elsewhere} elsewhere")),
        }
    }

    fn workloads(&mut self, preview: &Preview) {
        let all = if self.verbose { sections(preview) } else { short_sections(preview) };
        let (shown, quiet): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|section| preview.is_comparison() || section.is_trouble);
        let limit = if self.verbose { usize::MAX } else { SECTIONS };
        for section in shown.iter().take(limit) {
            self.heading(&section.heading);
            section.groups.iter().for_each(|group| self.group(group));
        }
        let more = shown.len().saturating_sub(limit);
        if more > 0 {
            self.heading(&format!("… and {}; --verbose shows all", counted(more, "more section")));
        }
        if preview.is_comparison() {
            if shown.is_empty() {
                self.heading("Compared with the old settings, no outcome changes.");
            }
            return;
        }
        self.quiet(&quiet);
        counts(preview).iter().for_each(|line| self.heading(line));
    }

    /// Writes what is changed where nothing is wrong.
    fn quiet(&mut self, sections: &[Section<'_>]) {
        const HEADING: &str = "Changed, and not moved by the policy:";
        let namespaces: usize = sections.iter().map(|section| section.namespaces).sum();
        if namespaces == 0 {
            return;
        }
        if namespaces > QUIET && !self.verbose {
            let workloads: usize = sections.iter().flat_map(|section| &section.groups).map(|group| group.count).sum();
            let (workloads, namespaces) = (counted(workloads, "workload"), counted(namespaces, "namespace"));
            return self.heading(&format!("{HEADING} {workloads} in {namespaces}; --verbose lists them."));
        }
        self.heading(HEADING);
        for Section { heading, groups, .. } in sections {
            let would_be = |group: &Group<'_>| if group.finding.forecast.would_be { " (would be)" } else { "" };
            let names: Vec<_> = groups.iter().map(|group| format!("{}{}", group.names, would_be(group))).collect();
            self.wrapped("  ", &format!("- {heading}: {}", names.join("; ")), 4);
        }
    }

    fn group(&mut self, group: &Group<'_>) {
        let OutcomeEntry { forecast, reason, .. } = group.finding;
        let was = group.was.as_ref().map(|was| format!(" (before: {was})")).unwrap_or_default();
        self.beside(forecast.outcome.title(), &format!("{}{was}", group.names));
        match (reason, forecast.would_be) {
            (Some(reason), true) => self.beside("", &format!("would be: {reason}")),
            (Some(reason), false) => self.beside("", reason),
            (None, true) => self.beside("", "would be, with enforcement: Enforce"),
            (None, false) => {}
        }
        if !group.nodes.is_empty() {
            let nodes: Vec<String> = group.nodes.iter().map(ToString::to_string).collect();
            self.beside("", &format!("nodes: {}; {} there now", self.names(&nodes), counted(group.pods, "Pod")));
        }
    }

    fn names(&self, names: &[String]) -> String {
        if self.verbose { names.join(", ") } else { cut(names) }
    }
}

/// Rows and pools in lines of at most `width`; nothing if there are too many pools, or a word would break.
fn table(pools: &[Pool], rows: &[&Row], width: usize) -> Option<Vec<String>> {
    if !fit_in_a_table(pools) {
        return None;
    }
    let heading: Vec<String> = [String::new()].into_iter().chain(pools.iter().map(column_heading)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(|row| table_row(row)).collect();
    let words = |column: usize| {
        let texts = rows.iter().chain([&heading]).filter_map(move |row| row.get(column));
        texts.flat_map(|text| text.split_whitespace()).map(|word| word.chars().count())
    };
    let needed: Vec<usize> = (0..=pools.len()).map(|column| words(column).max().unwrap_or_default()).collect();
    if needed.iter().map(|word| word + PADDING).sum::<usize>() + 1 > width {
        return None;
    }
    let columns = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    let unbroken = needed.iter().map(|word| LowerBoundary(Width::Fixed(columns(word + PADDING - 1))));
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic).set_width(columns(width));
    table.set_header(&heading).add_rows(&rows).set_constraints(unbroken);
    Some(table.lines().map(|line| line.trim_end().to_owned()).collect())
}

fn column_heading(pool: &Pool) -> String {
    // Breaks where people would break a label or a taint.
    let broken = |text: &str| text.replace('/', "/\n").replace(':', "\n:");
    let taints: String = pool.taints.iter().map(|taint| format!("taint\n{}\n", broken(taint))).collect();
    format!("{}\n{taints}{}", broken(&pool.name.replace(", ", "\n")), nodes(pool))
}

fn table_row(row: &Row) -> Vec<String> {
    let names = shortened(&row.namespaces, NAMED).unwrap_or_else(|| row.namespaces.join(", "));
    let note = note(row).map(|note| format!("\n(new Pods {note})")).unwrap_or_default();
    let cells = row.cells.iter().map(|cell| match cell.pods {
        0 => answer(cell).to_owned(),
        pods => format!("{}\n{}", answer(cell), counted(pods, "Pod")),
    });
    [format!("{}{note}", heading(row, &names))].into_iter().chain(cells).collect()
}

/// Returns `tenant=blue: a, b and c`.
fn heading(row: &Row, namespaces: &str) -> String {
    if row.namespaces.len() == 1 || !row.tenants.is_empty() {
        return name(row);
    }
    format!("{}: {namespaces}", name(row))
}
