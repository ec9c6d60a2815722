//! Previews for tests of how they are shown.

use super::{
    Accepted, Advice, Cause, CauseKind, Change, Namespace, Obstacle, Outcome, Pool, Preview, Restart, Row, Verdict,
    Was, Workload,
};

/// `count` tenants, each with a pool, a namespace and a Deployment; the first has a Deployment that is refused, and the
/// second one whose Pods move.
pub fn tenants(count: usize) -> Preview {
    let mut preview = Preview::default();
    for index in 0..count {
        let tenant = format!("tenant-{index:03}");
        let outcome = [Outcome::Refused, Outcome::Moves].get(index).copied().unwrap_or(Outcome::Changed);
        let nodes = vec![format!("node-{index}-a"), format!("node-{index}-b")];
        preview.workloads.push(Workload {
            kind: "Deployment".to_owned(),
            namespace: tenant.clone(),
            name: "web".to_owned(),
            outcome,
            would_be: false,
            reason: (outcome == Outcome::Refused).then(|| "it asks for <b>pool=other</b>".to_owned()),
            nodes: if outcome == Outcome::Moves { vec!["node-0-a".to_owned()] } else { vec![] },
            pods: 2,
            was: None,
            change: Change::None,
            owner: None,
        });
        preview.namespaces.push(Namespace {
            name: tenant.clone(),
            outcome: Outcome::Changed,
            would_be: false,
            reason: None,
            was: None,
            change: Change::None,
        });
        let (mut takes, mut pods) = (vec![false; count], vec![0; count]);
        takes[index] = true;
        pods[if outcome == Outcome::Moves { 0 } else { index }] = 2;
        preview.rows.push(Row {
            name: tenant.clone(),
            entry: Some("the entry for tenant".to_owned()),
            namespaces: vec![tenant.clone()],
            selector: format!("pool={tenant}"),
            outcome: Outcome::Changed,
            would_be: false,
            kept_away: None,
            takes,
            pods,
            lost: 0,
        });
        preview.pools.push(Pool {
            name: format!("pool={tenant}"),
            labels: [("pool".to_owned(), tenant)].into(),
            taints: vec!["example.com/dedicated=tenant:NoSchedule".to_owned()],
            nodes,
            node_pool: None,
        });
    }
    preview.advice.push(Advice {
        text: "Deployment web in tenant-000 asks for pool=other: change it, or the entry for tenant.".to_owned(),
        cause: Cause { kind: CauseKind::Asks, namespace: Some("tenant-000".to_owned()), ..Cause::default() },
    });
    preview.restarts.push(Restart {
        namespace: "tenant-001".to_owned(),
        kind: "Deployment".to_owned(),
        name: "web".to_owned(),
        pods: 2,
        obstacle: Some(Obstacle::Paused),
        budgets: vec![],
    });
    preview.remarks.push("There are no NodePools: Karpenter is taken to be absent.".to_owned());
    preview.verdict = Verdict::new(&preview.workloads, &preview.namespaces, &[], &Accepted::default());
    preview
}

/// A comparison in which one Deployment is refused that was not.
pub fn difference() -> Preview {
    let mut preview = tenants(1);
    preview.compared = true;
    preview.namespaces.clear();
    if let Some(workload) = preview.workloads.first_mut() {
        workload.was = Some(Was { outcome: Outcome::Unchanged, would_be: false });
    }
    preview
}
