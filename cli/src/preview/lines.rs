//! The report for scripts: one JSON object a line, nothing cut.

use serde_json::{Value, json};

use super::{
    changes::Changes,
    finding::{Finding, Verdict},
    tally::{Group, Tally},
};

/// The same as the report, line by line. `type` says what a line is about.
pub fn lines(tally: &Tally) -> Vec<Value> {
    let mut lines = vec![];
    for (kind, counts) in &tally.sums {
        let count = |verdict| counts.get(&verdict).copied().unwrap_or_default();
        lines.push(json!({
            "type": "sum",
            "kind": kind,
            "unchanged": count(Verdict::Unchanged),
            "changed": count(Verdict::Changed),
            "rejected": count(Verdict::Rejected),
            "unknown": count(Verdict::Unknown),
        }));
    }
    for (namespace, findings) in &tally.findings {
        lines.extend(findings.iter().map(|(finding, group)| line(namespace, finding, group)));
    }
    let without_rule = tally.has_rule.iter().filter(|(_, has_rule)| !**has_rule);
    lines.extend(without_rule.map(|(namespace, _)| json!({ "type": "noRule", "namespace": namespace })));
    lines.extend(
        tally.missing.iter().map(|(what, count)| json!({ "type": "missing", "object": what, "requests": count })),
    );
    lines
        .extend(tally.spared.iter().map(|(why, count)| json!({ "type": "notSent", "reason": why, "requests": count })));
    lines
        .extend(tally.unasked.iter().map(|(kind, count)| json!({ "type": "skipped", "kind": kind, "objects": count })));
    lines.extend(tally.unreadable.iter().map(
        |unreadable| json!({ "type": "unreadable", "resource": unreadable.resource, "reason": unreadable.reason }),
    ));
    lines.extend(
        tally.unchecked.iter().map(|(why, count)| json!({ "type": "unchecked", "condition": why, "requests": count })),
    );
    lines.extend(tally.entries.iter().map(|entry| {
        json!({
            "type": "entry", "position": entry.position, "about": entry.about, "namespaces": entry.namespaces.len(),
            "nodes": entry.nodes, "problem": entry.problem.as_ref().map(|problem| &problem.text),
        })
    }));
    for pool in &tally.pools.pools {
        lines.push(json!({ "type": "pool", "labels": pool.labels, "taints": pool.taints, "nodes": pool.nodes }));
    }
    for row in &tally.pools.rows {
        let cells = row.cells.iter().map(|cell| json!({ "state": cell.state.in_words(), "pods": cell.pods }));
        let cells: Vec<Value> = cells.collect();
        lines.push(json!({
            "type": "row", "namespaces": row.namespaces, "note": row.note.in_words(), "pools": cells,
        }));
    }
    lines
}

/// What other settings change: the same, with `change`, which is `new` or `gone`.
pub fn lines_of_changes(changes: &Changes) -> Vec<Value> {
    let mut lines = vec![];
    for moved in &changes.moved {
        lines.push(json!({
            "type": "moved", "namespaces": moved.namespaces, "gained": moved.gained, "lost": moved.lost,
        }));
    }
    for (change, findings) in [("new", &changes.new), ("gone", &changes.gone)] {
        for (namespace, findings) in findings {
            for (finding, group) in findings {
                let mut line = line(namespace, finding, group);
                line["change"] = change.into();
                lines.push(line);
            }
        }
    }
    lines
}

fn line(namespace: &str, finding: &Finding, group: &Group) -> Value {
    let mut line = match finding {
        Finding::Rejected { code, reason, cause } => {
            let class = cause.runtime_class();
            json!({ "type": "rejected", "code": code, "message": reason, "runtimeClass": class })
        }
        Finding::Misplaced { reason } => json!({ "type": "misplaced", "message": reason, "nodes": group.nodes }),
        Finding::Waits { reason } => json!({ "type": "waits", "message": reason, "nodes": group.nodes }),
        Finding::WouldBe { what } => json!({ "type": "wouldBe", "message": what }),
        Finding::Warned { warning } => json!({ "type": "warned", "message": warning }),
        Finding::Changed { gets } => json!({ "type": "changed", "gets": gets }),
    };
    let objects = group.members.iter().map(|(kind, members)| {
        let names = &members.names.first;
        match &kind.owner {
            Some(owner) => json!({ "kind": kind.kind, "count": members.count, "ownerKind": owner, "owners": names }),
            None => json!({ "kind": kind.kind, "count": members.count, "names": names }),
        }
    });
    line["objects"] = objects.collect();
    line["namespace"] = namespace.into();
    line
}
