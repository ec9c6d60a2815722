//! An explanation as text.

use super::printer::Printer;
use crate::{
    explain::{
        Explanation, PODS, WOULD_BE,
        fit::{Fit, PoolFit},
        rules::{DemandRow, PassedOver, Rules},
        subject::ExplainedSubject,
    },
    input::settings::Enforcement,
    lists::shortened,
    places::fit::Fit as Answer,
    rules::RuleKind::{AllowedNodeSelector, AllowedTolerations, ForbiddenTolerations},
};

/// At most this many names are listed.
const SHOWN: usize = 10;

/// Writes all of it.
pub fn write(explanation: &Explanation, printer: &mut Printer) {
    printer.heading(&format!("Namespace {}", explanation.namespace));
    if let Some(reason) = &explanation.not_asked {
        printer.item(&format!("the policy is not asked: {reason}"));
    }
    let Rules { entry, entry_for, enforcement, passed_over, demands } = &explanation.rules;
    match (entry, entry_for) {
        (Some(entry), Some(purpose)) => printer.item(&format!("{entry} ({purpose}) applies")),
        _ => printer.item("no entry of placement.namespaces applies"),
    }
    if *enforcement == Some(Enforcement::Warn) {
        printer.item("its enforcement is Warn: requests pass unchanged, with a warning");
    }
    for PassedOver { entry, because } in passed_over {
        printer.item(&format!("{entry} does not: {because}"));
    }
    let is_limit =
        |demand: &&DemandRow| matches!(demand.kind, AllowedNodeSelector | AllowedTolerations | ForbiddenTolerations);
    let (limits, demands): (Vec<&DemandRow>, Vec<&DemandRow>) = demands.iter().partition(is_limit);
    let nothing = demands.is_empty().then(|| "nothing".to_owned());
    section("What is demanded", demands.into_iter().flat_map(describe_demand).chain(nothing), printer);
    section("What Pods may ask for", limits.into_iter().flat_map(describe_demand), printer);
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

fn describe_demand(demand: &DemandRow) -> Vec<String> {
    let DemandRow { kind, requirement, source, problem } = demand;
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
        _ => "A Pod that asks for nothing".to_owned(),
    };
    let mut lines: Vec<String> = subject.not_running.iter().cloned().collect();
    lines.extend(subject.node.iter().map(|node| runs_on(node, subject)));
    let is_same = subject.as_new.refused.is_none() && subject.as_is.pools == subject.as_new.pools;
    if !is_same {
        let as_is = if subject.is_pod() { "as it is" } else { "without the policy" };
        lines.extend(where_it_fits(&subject.as_is));
        section(&format!("{called}, {as_is}"), std::mem::take(&mut lines), printer);
    }
    let as_new = match (is_same, subject.is_pod()) {
        (false, _) => "created now",
        (true, true) => "as it is, and if it were created now",
        (true, false) => "with the policy and without",
    };
    if explanation.rules.enforcement == Some(Enforcement::Warn) && explanation.not_asked.is_none() {
        lines.push("placement changes nothing: enforcement is Warn".to_owned());
    }
    lines.extend(where_it_fits(&subject.as_new));
    // The controller knows its template alone.
    let leaves_nodes = "where the policy is enforced, it leaves nodes: new Pods for them wait, until its template has what the \
                        policy adds";
    lines.extend(subject.leaves_nodes.then(|| leaves_nodes.to_owned()));
    if subject.as_new.refused.is_none() && subject.as_new.pools.is_empty() {
        let why = explanation.unknown.last().map_or("no nodes are known", String::as_str);
        lines.push(format!("where it can run could not be evaluated: {why}"));
    }
    let fits_nowhere = |fit: &Fit| !fit.pools.is_empty() && !fit.pools.iter().any(|pool| pool.fits);
    let is_in_trouble =
        subject.as_new.refused.is_some() || [&subject.as_is, &subject.as_new].into_iter().any(fits_nowhere);
    if is_in_trouble || subject.leaves_nodes {
        lines.push("kubectl node-placement preview says what to do, if the policy is the cause".to_owned());
    }
    section(&format!("{called}, {as_new}"), lines, printer);
}

/// Returns where a Pod runs, and what keeps it from being there if it were not there yet.
fn runs_on(node: &str, subject: &ExplainedSubject) -> String {
    let excluded_by = |fit: &Fit| {
        let pool = fit.pools.iter().find(|pool| pool.nodes.iter().any(|own| own == node));
        pool.and_then(|pool| pool.excluded_by.clone())
    };
    if let Some(why) = excluded_by(&subject.as_is) {
        return format!("runs on {node}, which would not take it now: {why}");
    }
    if let Some(why) = excluded_by(&subject.as_new) {
        return format!("runs on {node}, which would not take it if it were created now: {why}");
    }
    format!("runs on {node}")
}

fn where_it_fits(fit: &Fit) -> Vec<String> {
    let refused = fit.refused.as_ref().map(|message| {
        let is_sentence = [WOULD_BE, PODS].iter().any(|beginning| message.starts_with(beginning));
        if is_sentence { message.clone() } else { format!("is refused: {message}") }
    });
    let summary = (!fit.pools.is_empty()).then(|| summary(fit));
    let pools = fit.pools.iter().map(|pool| format!("    {}", describe_pool(pool)));
    refused.into_iter().chain(summary).chain(pools).collect()
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

/// Returns where Pods could run, which are the `subject` of the sentence; if they can't, why each pool does not take
/// them.
pub fn where_to_run(subject: &str, fit: &Fit) -> Vec<String> {
    if let Some(why) = why_it_waits(fit) {
        let pools = fit.pools.iter().map(|pool| format!("  {}", describe_pool(pool)));
        return std::iter::once(format!("{subject} would wait: {why}")).chain(pools).collect();
    }
    let pools = fit.usable().map(|pool| match pool.usable() {
        [] if !pool.nodes.is_empty() => format!("{} (new nodes)", pool.name),
        [] => format!("{} (no nodes yet)", pool.name),
        nodes => names(nodes),
    });
    vec![format!("{subject} could run on {}", pools.collect::<Vec<_>>().join(", "))]
}

fn describe_pool(pool: &PoolFit) -> String {
    let PoolFit { name, nodes, excluded_by, .. } = pool;
    let name = match nodes.as_slice() {
        [] => format!("{name} (no nodes yet)"),
        [node] => format!("{name} ({node})"),
        nodes => format!("{name} ({} nodes: {})", nodes.len(), names(nodes)),
    };
    match (excluded_by, pool.only()) {
        (Some(why), _) => format!("{name}: no: {why}"),
        (None, Some(Answer::TooSmall(lacking))) => {
            let lacking: Vec<&str> = lacking.iter().map(|lack| lack.resource.as_str()).collect();
            format!("{name}: fits, but no node has enough {}", lacking.join(", "))
        }
        (None, Some(Answer::NotNow(_))) => {
            format!("{name}: fits, but every node is cordoned, not ready, or about to go")
        }
        (None, _) => format!("{name}: fits"),
    }
}

fn names(nodes: &[String]) -> String {
    shortened(nodes, SHOWN).unwrap_or_else(|| nodes.join(", "))
}
