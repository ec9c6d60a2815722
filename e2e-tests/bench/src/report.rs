//! Writes `costs.md` and the picture in it. Makes the tables of all cases, which are printed.

use std::{fs, path::Path, thread};

use anyhow::Result;

use e2e_tests::cost::{Family, KB, kilobytes};

use crate::{
    Measured,
    bounds::Bound,
    measured::{Costs, Row, as_f64},
    plot::{self, Line},
};

/// The cases that the page shows.
const SHOWN: [(Family, usize); 8] = [
    (Family::Injected, 2 * KB),
    (Family::Injected, 17 * KB),
    (Family::Injected, 164 * KB),
    (Family::Environment, 17 * KB),
    (Family::Settings, 1_000),
    (Family::Bindings, 3),
    (Family::Deployment, 1),
    (Family::Untouched, 1),
];

const INTRODUCTION: &str = "\
# Costs

Written by `make bench`, which may have run before the latest change. `cargo doc -p bench` says how it measures.
[`instructions.tsv`](../instructions.tsv) has the instructions of the current commit. *Policy* is the time of one
evaluation, without a server. *÷ limit* compares it with the time of the limit: lower is better.";

const PICTURE: &str =
    "![Cost of a Pod CREATE over the size of the Pod: limit, policy, typed twin](cost-by-pod-size.svg)";

/// Writes the page and the picture.
pub fn write(measured: &Measured) -> Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = format!("{INTRODUCTION}\n\n{}\n\n{}\n\n{PICTURE}\n", machine(), costs_table(measured)?);
    fs::write(folder.join("costs.md"), page)?;
    Ok(fs::write(folder.join("cost-by-pod-size.svg"), plot(measured)?)?)
}

fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let cores = thread::available_parallelism().map_or(0, usize::from);
    format!("Measured on {cores} cores, {}.", model.map_or("an unnamed processor", |(_, name)| name))
}

fn costs_table(measured: &Measured) -> Result<String> {
    let mut rows = vec![
        "| Case | Policy | ÷ limit | Typed twin ÷ limit | Instructions |".to_owned(),
        "|---|---|---|---|---|".to_owned(),
    ];
    for (family, size) in SHOWN {
        rows.push(cost_line(measured.row(family, size)?));
    }
    let compile = &measured.compile;
    rows.push(String::new());
    rows.push(format!(
        "A host compiles the module once, in {}. That is {:.1} × the floor's time.",
        duration(compile.policy),
        compile.over_floor()
    ));
    Ok(rows.join("\n"))
}

fn cost_line(row: &Row) -> String {
    let twin = row.time.twin.map_or_else(|| "–".to_owned(), |twin| format!("{:.2}", twin / row.limit));
    format!(
        "| {} | {} | {:.2} | {twin} | {} |",
        row.case,
        duration(row.time.policy),
        row.over_limit(),
        thousands(row.instructions.policy)
    )
}

pub fn bounds_table(bounds: &[Bound]) -> String {
    let rows: Vec<String> = bounds.iter().map(Bound::to_string).collect();
    format!("| What | Bound | Measured | Holds |\n|---|---|---|---|\n{}", rows.join("\n"))
}

pub fn cases_table(measured: &Measured) -> String {
    let mut rows = vec![
        "| Case | Floor | Policy | Typed twin | Policy ÷ floor | Typed twin ÷ policy | Policy ÷ limit \
         | Instructions: floor, policy, typed twin | Memory: floor, policy, typed twin |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
        format!("{} | | | |", compared("Size of the module", &measured.size, rounded)),
        format!("{} | | | |", compared("Compiling the module", &measured.compile, duration)),
    ];
    rows.extend(measured.rows.iter().filter(|row| !row.case.family.is_growth()).map(case_line));
    rows.join("\n")
}

fn case_line(row: &Row) -> String {
    let time = compared(&row.case.to_string(), &row.time, duration);
    let (instructions, memory) = (list(&row.instructions, thousands), list(&row.memory, rounded));
    format!("{time} | {:.2} | {instructions} | {memory} |", row.over_limit())
}

fn compared(name: &str, costs: &Costs, unit: fn(f64) -> String) -> String {
    let under_twin = costs.under_twin().map_or_else(String::new, |ratio| format!("{ratio:.2}"));
    let twin = costs.twin.map_or_else(String::new, unit);
    let (floor, policy) = (unit(costs.floor), unit(costs.policy));
    format!("| {name} | {floor} | {policy} | {twin} | {:.2} | {under_twin}", costs.over_floor())
}

fn list(costs: &Costs, unit: fn(f64) -> String) -> String {
    let all = [Some(costs.floor), Some(costs.policy), costs.twin];
    all.into_iter().flatten().map(unit).collect::<Vec<_>>().join(", ")
}

pub fn growth_table(measured: &Measured) -> String {
    let growth: Vec<&Row> = measured.rows.iter().filter(|row| row.case.family.is_growth()).collect();
    let mut rows = vec![
        "| What | Bytes read | Policy | Policy ÷ floor | Against half of it: time, instructions, bytes | Memory |"
            .to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    for pair in growth.chunks_exact(2) {
        let [half, whole] = pair else { continue };
        let read = |row: &Row| as_f64(row.case.bytes_read(&row.lookups));
        rows.push(format!(
            "| {} | {} | {} | {:.2} | × {:.2}, × {:.2}, × {:.2} | {} |",
            whole.case,
            rounded(read(whole)),
            duration(whole.time.policy),
            whole.time.over_floor(),
            whole.time.policy / half.time.policy,
            whole.instructions.policy / half.instructions.policy,
            read(whole) / read(half),
            rounded(whole.memory.policy),
        ));
    }
    rows.join("\n")
}

fn plot(measured: &Measured) -> Result<String> {
    let pods = || measured.family(Family::Injected);
    let points = |cost: fn(&Costs) -> Option<f64>| {
        pods().filter_map(|row| Some((as_f64(row.case.size), cost(&row.time)?))).collect()
    };
    let limit = pods().map(|row| (as_f64(row.case.size), row.limit)).collect();
    let lines = [
        Line { name: "limit", points: limit },
        Line { name: "policy", points: points(|costs| Some(costs.policy)) },
        Line { name: "typed twin", points: points(|costs| costs.twin) },
    ];
    let ticks: Vec<(f64, String)> = pods().map(|row| (as_f64(row.case.size), kilobytes(row.case.size))).collect();
    Ok(plot::svg("Pod CREATE with injection", "size of the Pod", &ticks, &lines)?)
}

pub fn duration(nanoseconds: f64) -> String {
    match nanoseconds {
        ..1e5 => format!("{:.1} µs", nanoseconds / 1e3),
        ..1e6 => format!("{:.0} µs", nanoseconds / 1e3),
        ..1e8 => format!("{:.1} ms", nanoseconds / 1e6),
        _ => format!("{:.0} ms", nanoseconds / 1e6),
    }
}

/// 4,736 as 5 k: the exact figures are `instructions.tsv`'s.
pub fn thousands(count: f64) -> String {
    format!("{:.0} k", count / 1e3)
}

fn rounded(bytes: f64) -> String {
    format!("{:.0} KB", bytes / as_f64(KB))
}
