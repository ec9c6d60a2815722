//! An explanation as text: what is the same is said once, so that it fits a screen in a large cluster.

use super::printer::Printer;
use crate::{
    explain::{
        Explanation,
        fit::{Fence, Fit, PoolFit, Refused},
        reason::Reason,
        rules::{PassedOver, PassedOverReason, RequirementRow, Rules},
        subject::ExplainedSubject,
    },
    input::settings::Enforcement,
    lists::{counted, listed, shortened},
    places::{fit::Fit as Answer, node_map::largest},
    rules::RuleKind::{AllowedNodeSelector, AllowedTolerations, ForbiddenTolerations},
    words::too_small,
};

/// At most this many names are listed.
const NAMES: usize = 3;

/// At most this many reasons are listed, if the subject has one list of pools.
const REASONS: usize = 10;

/// At most this many lines are listed of a kind of which there may be many.
const LINES: usize = 5;

/// Writes all of it.
pub fn write(explanation: &Explanation, printer: &mut Printer) {
    printer.heading(&format!("Namespace {}", explanation.namespace));
    if let Some(reason) = &explanation.not_asked {
        printer.item(&format!("the policy is not asked: {reason}"));
    }
    let Rules { entry, entry_for, enforcement, passed_over, requirements } = &explanation.rules;
    match (entry, entry_for) {
        (Some(entry), Some(purpose)) => printer.item(&format!("{entry} ({purpose}) applies")),
        _ => printer.item("no entry of placement.namespaces applies"),
    }
    if *enforcement == Some(Enforcement::Warn) {
        printer.item("its enforcement is Warn: requests pass unchanged, with a warning");
    }
    passed_over_lines(passed_over).iter().for_each(|line| printer.item(line));
    let is_limit =
        |row: &&RequirementRow| matches!(row.kind, AllowedNodeSelector | AllowedTolerations | ForbiddenTolerations);
    let (limits, required): (Vec<&RequirementRow>, Vec<&RequirementRow>) = requirements.iter().partition(is_limit);
    let nothing = required.is_empty().then(|| "nothing".to_owned());
    section("What is required", required.into_iter().flat_map(requirement_lines).chain(nothing), printer);
    section("What Pods may request", limits.into_iter().flat_map(requirement_lines), printer);
    write_subject(explanation, printer);
    section("What could not be evaluated", explanation.unknown.iter().cloned(), printer);
    section("What the cluster itself can tell", explanation.commands.iter().cloned(), printer);
}

/// Prints a heading with lines below it, if there are some.
fn section(heading: &str, lines: impl IntoIterator<Item = String>, printer: &mut Printer) {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_some() {
        printer.gap();
        printer.heading(heading);
        lines.for_each(|line| printer.item(&line));
    }
}

/// Returns why entries do not apply: one line for those that do not for the same reason; those for other Pods of the
/// namespace one by one.
fn passed_over_lines(entries: &[PassedOver]) -> Vec<String> {
    let mut groups: Vec<Vec<&PassedOver>> = vec![];
    for entry in entries {
        let is_like = |group: &&mut Vec<&PassedOver>| {
            let first = group.first().map(|first| &first.reason);
            first == Some(&entry.reason) && entry.reason != PassedOverReason::OtherPods
        };
        match groups.iter_mut().find(is_like) {
            Some(group) => group.push(entry),
            None => groups.push(vec![entry]),
        }
    }
    let lines = groups.iter().filter_map(|group| match group.as_slice() {
        [PassedOver { entry, because, .. }] => Some(format!("{entry} does not: {because}")),
        [first, ..] => {
            let names: Vec<String> = group.iter().map(|entry| entry.entry.clone()).collect();
            Some(format!("{} entries {} ({})", group.len(), why_several_do_not_apply(&first.reason), names_of(&names)))
        }
        [] => None,
    });
    limited(lines.collect(), LINES, "entries that do not apply")
}

fn why_several_do_not_apply(reason: &PassedOverReason) -> String {
    match reason {
        PassedOverReason::Name => "do not: they are for other names".to_owned(),
        PassedOverReason::Label { key, found: Some(value) } => {
            format!("do not: the Namespace has {key}={value}, and they are for other values")
        }
        PassedOverReason::Label { key, found: None } => format!("do not: the Namespace has no label {key}"),
        PassedOverReason::OtherPods => "do not: they are for other Pods".to_owned(),
        PassedOverReason::EntryAbove(above) => format!("would apply, but {above} comes before"),
    }
}

/// Returns the first lines, and how many more there are.
fn limited(mut lines: Vec<String>, most: usize, what: &str) -> Vec<String> {
    if lines.len() > most {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(format!("{more} more {what}: -o json lists them"));
    }
    lines
}

fn requirement_lines(row: &RequirementRow) -> Vec<String> {
    let RequirementRow { kind, requirement, source, problem } = row;
    let what = match kind {
        _ if !requirement.is_empty() => requirement,
        AllowedTolerations => "no tolerations",
        AllowedNodeSelector => "no labels of nodes",
        _ => "nothing",
    };
    let limit = match kind {
        AllowedNodeSelector | AllowedTolerations if !requirement.is_empty() => "only ",
        ForbiddenTolerations => "not ",
        _ => "",
    };
    let problem = problem.iter().map(|problem| format!("    {problem}: requests that need it are refused"));
    std::iter::once(format!("{limit}{what}, by {source}")).chain(problem).collect()
}

fn write_subject(explanation: &Explanation, printer: &mut Printer) {
    let subject = &explanation.subject;
    let called = match (&subject.kind, &subject.name) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        _ => "A Pod without a node selector".to_owned(),
    };
    let mut lines: Vec<String> = subject.not_running.iter().cloned().collect();
    lines.extend(subject.node.iter().map(|node| runs_on(node, subject)));
    let (without, with) = (&subject.without_policy, &subject.with_policy);
    let is_same = with.refused.is_none() && without.pools == with.pools;
    let most = if is_same || with.pools.is_empty() { REASONS } else { REASONS / 2 };
    if !is_same {
        let as_is = if subject.is_pod() { "as it is" } else { "without the policy" };
        lines.extend(where_it_fits(without, most));
        section(&format!("{called}, {as_is}"), std::mem::take(&mut lines), printer);
    }
    let as_new = match (is_same, subject.is_pod()) {
        (false, true) => "created now, with the policy",
        (false, false) => "with the policy",
        (true, true) => "as it is, and if it were created now",
        (true, false) => "with the policy and without",
    };
    if explanation.rules.enforcement == Some(Enforcement::Warn) && explanation.not_asked.is_none() {
        lines.push("placement changes nothing: enforcement is Warn".to_owned());
    }
    lines.extend(where_it_fits(with, most));
    lines.extend(trouble(explanation));
    section(&format!("{called}, {as_new}"), lines, printer);
}

/// Returns what else must be known of a subject that can't run everywhere it should.
fn trouble(Explanation { subject, unknown, .. }: &Explanation) -> Vec<String> {
    let with = &subject.with_policy;
    let mut lines = vec![];
    if subject.leaves_nodes {
        lines.push(
            "where the policy is enforced, it leaves nodes: its controller makes Pods for them, which wait until the \
             template has what the policy adds"
                .to_owned(),
        );
    }
    if with.refused.is_none() && with.pools.is_empty() {
        let why = unknown.last().map_or("no nodes are known", String::as_str);
        lines.push(format!("where it can run could not be evaluated: {why}"));
    }
    let fits_nowhere = |fit: &Fit| !fit.pools.is_empty() && !fit.pools.iter().any(|pool| pool.fits);
    if with.refused.is_some() || [&subject.without_policy, with].into_iter().any(fits_nowhere) || subject.leaves_nodes {
        lines.push("kubectl node-placement preview says what to do, if the policy is the cause".to_owned());
    }
    lines
}

/// Returns where a Pod runs, and what would keep it from there if it were not there yet.
fn runs_on(node: &str, subject: &ExplainedSubject) -> String {
    let excluded_by = |fit: &Fit| {
        let pool = fit.pools.iter().find(|pool| pool.nodes.iter().any(|own| own == node));
        pool.and_then(|pool| pool.excluded_by.clone())
    };
    if let Some(why) = excluded_by(&subject.without_policy) {
        return format!("runs on {node}, which would not accept it now: {why}");
    }
    if let Some(why) = excluded_by(&subject.with_policy) {
        return format!("runs on {node}, which would not accept it if it were created now: {why}");
    }
    format!("runs on {node}")
}

/// Returns whether a Pod is refused, or where it can run, with at most so many reasons why it can't run elsewhere.
fn where_it_fits(fit: &Fit, most: usize) -> Vec<String> {
    let refused = fit.refused.as_ref().map(|Refused { text, would_be, is_of_pods }| match (would_be, is_of_pods) {
        (true, _) => format!("would be rejected: {text}"),
        (false, true) => text.clone(),
        (false, false) => format!("is refused: {text}"),
    });
    let summary = (!fit.pools.is_empty()).then(|| summary(fit));
    let fence = fit.fence.iter().map(|fence| format!("    {}", describe_fence(fence)));
    let pools = pool_lines(fit, most).into_iter().map(|line| format!("    {line}"));
    refused.into_iter().chain(summary).chain(fence).chain(pools).collect()
}

/// Returns the answer, in one line.
fn summary(fit: &Fit) -> String {
    if let Some(why) = why_it_waits(fit) {
        return format!("it waits: {why}");
    }
    let count: usize = fit.usable().map(|pool| pool.usable().len()).sum();
    let all: usize = fit.pools.iter().map(|pool| pool.nodes.len()).sum();
    match fit.usable().any(|pool| pool.usable().is_empty()) {
        false => format!("can run on {count} of {all} nodes"),
        true => format!("can run on {count} of {all} nodes, and on nodes that Karpenter would create"),
    }
}

/// Returns why a Pod waits; nothing, if it does not.
fn why_it_waits(fit: &Fit) -> Option<&'static str> {
    if fit.usable().next().is_some() {
        return None;
    }
    Some(match (fit.pools.iter().any(|pool| pool.fits), fit.too_small.is_empty(), fit.not_now.is_empty()) {
        (false, ..) => "no node fits",
        (true, false, true) => "no node that fits is large enough",
        (true, true, false) => "every node that fits is cordoned, not ready, or about to go",
        _ => "no node that fits is both large enough and ready",
    })
}

fn describe_fence(Fence { sources, places }: &Fence) -> String {
    format!("the cause is the fence: without {} it could run on {}", listed(sources), names_of(places))
}

/// Returns where Pods could run, which are the `subject` of the sentence; if they can't, why.
pub fn where_to_run(subject: &str, fit: &Fit) -> Vec<String> {
    if let Some(why) = why_it_waits(fit) {
        let pools = pool_lines(fit, REASONS).into_iter().map(|line| format!("  {line}"));
        return std::iter::once(format!("{subject} would wait: {why}")).chain(pools).collect();
    }
    let pools = fit.usable().flat_map(|pool| match pool.usable() {
        [] if !pool.nodes.is_empty() => vec![format!("{} (new nodes)", pool.name)],
        [] => vec![format!("{} (no nodes yet)", pool.name)],
        nodes => nodes.to_vec(),
    });
    vec![format!("{subject} could run on {}", names_of(&pools.collect::<Vec<_>>()))]
}

/// Returns a line for pools with the same answer: those that can run the Pod first.
fn pool_lines(fit: &Fit, most: usize) -> Vec<String> {
    let lines = fit.groups().into_iter().map(|group| match group.as_slice() {
        [pool] => format!("{}: {}", describe_pool(pool), answer(&group)),
        pools => format!("{} pools: {} ({})", pools.len(), answer(&group), names_of(&short_names(pools))),
    });
    limited(lines.collect(), most, "reasons")
}

/// Words what pools with the same answer answer.
fn answer(group: &[&PoolFit]) -> String {
    let reasons: Vec<&Reason> = group.iter().filter_map(|pool| pool.reason.as_ref()).collect();
    match reasons.as_slice() {
        [] => {}
        [reason] => return reason.text(),
        [reason, others @ ..] => return reason.text_of_several(others),
    }
    let (fit, are) = if group.len() == 1 { ("fits", "is") } else { ("fit", "are") };
    let lacking = group.iter().map(|pool| pool.lacks().to_vec()).reduce(largest).unwrap_or_default();
    match group.first().and_then(|pool| pool.only()) {
        Some(Answer::TooSmall(_)) => format!("{fit}, but {are} too small: the Pod {}", too_small(&lacking)),
        Some(Answer::NotNow(_)) => format!("{fit}, but every node is cordoned, not ready, or about to go"),
        _ => fit.to_owned(),
    }
}

/// Returns a pool's name, and its nodes.
fn describe_pool(PoolFit { name, nodes, .. }: &PoolFit) -> String {
    match nodes.as_slice() {
        [] => format!("{name} (no nodes yet)"),
        [node] if name.ends_with(&format!("({node})")) => name.clone(),
        [node] => format!("{name} ({node})"),
        nodes => format!("{name} ({}: {})", counted(nodes.len(), "node"), names_of(nodes)),
    }
}

/// Returns the names of the nodes, where each pool has one; else those of the pools.
fn short_names(pools: &[&PoolFit]) -> Vec<String> {
    let nodes: Option<Vec<String>> = pools.iter().map(|pool| only(&pool.nodes).cloned()).collect();
    nodes.unwrap_or_else(|| pools.iter().map(|pool| pool.name.clone()).collect())
}

fn only<T>(items: &[T]) -> Option<&T> {
    if let [item] = items { Some(item) } else { None }
}

fn names_of(names: &[String]) -> String {
    shortened(names, NAMES).unwrap_or_else(|| names.join(", "))
}
