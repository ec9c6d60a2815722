//! The preview tells of each workload what brute force finds.

mod cluster;
mod converging;
mod law;
mod matching;
mod oracle;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    preview::{Forecast, PreviewInput},
};
use serde_json::Value;

use cluster::{Dice, cluster, settings};
use oracle::{Oracle, WHATEVER};

/// So many clusters and settings.
const CASES: usize = 1000;

/// Valid settings, and a cluster.
fn any_case(dice: &mut Dice, policy: &Policy) -> Result<(Value, Vec<Value>)> {
    loop {
        let settings = settings(dice);
        if policy.validate_settings(&settings)?.valid {
            return Ok((settings, cluster(dice)));
        }
    }
}

fn told(Forecast { outcome, would_be }: Forecast) -> (String, bool) {
    (format!("{outcome:?}"), would_be)
}

#[test]
fn a_preview_tells_what_brute_force_finds() -> Result<()> {
    let (policy, mut dice) = (Policy::native(), Dice(2, true));
    let mut met: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for case in 0..CASES {
        let (settings, objects) = any_case(&mut dice, &policy)?;
        let files = SettingsFile::read_all(vec![settings.clone()])?;
        let cluster = objects.iter().cloned().collect::<Manifests>();
        let input = PreviewInput {
            policy: &policy,
            files: &files,
            old: None,
            cluster: &cluster,
            accepted: &[],
            fixed_nodes: false,
        };
        let preview = input.preview(|_, _| {}).with_context(|| format!("case {case}"))?;
        let oracle = Oracle::new(&policy, &objects, &settings);
        let workloads: BTreeMap<String, (String, bool)> = preview
            .workloads
            .iter()
            .map(|it| (format!("{} {}/{}", it.kind, it.namespace, it.name), told(it.finding.forecast)))
            .collect();
        let namespaces: BTreeMap<String, (String, bool)> =
            preview.namespaces.iter().map(|it| (it.name.clone(), told(it.finding.forecast))).collect();
        for (found, expected) in [(workloads, oracle.workloads()?), (namespaces, oracle.namespaces()?)] {
            expected.values().for_each(|outcome| *met.entry(outcome.clone()).or_default() += 1);
            let wrong: Vec<_> = expected
                .iter()
                .filter(|(name, expected)| expected.0 != WHATEVER && found.get(*name) != Some(expected))
                .collect();
            ensure!(
                wrong.is_empty() && found.keys().all(|name| expected.contains_key(name)),
                "case {case}: brute force finds {wrong:?}, the preview {found:?}\nsettings {settings}\ncluster {}",
                Value::from(objects)
            );
        }
    }
    // A comparison that never meets an outcome says nothing about it.
    for outcome in ["Refused", "Waits", "LeavesNodes", "Misplaced", "CannotTell", "Changed", "Unchanged"] {
        let count = met.get(&(outcome.to_owned(), false)).copied().unwrap_or_default();
        ensure!(count >= 20, "{outcome}: {count} of {met:?}");
    }
    Ok(())
}

/// A fence opens where Bindings are accepted that were refused.
#[test]
fn a_comparison_tells_which_fences_open() -> Result<()> {
    let (policy, mut dice) = (Policy::native(), Dice(3, true));
    let (mut opened, mut same) = (0, 0);
    for case in 0..CASES / 4 {
        let (old, objects) = any_case(&mut dice, &policy)?;
        let (new, _) = any_case(&mut dice, &policy)?;
        let read = |settings: &Value| SettingsFile::read_all(vec![settings.clone()]);
        let (old_files, files) = (read(&old)?, read(&new)?);
        let cluster = objects.iter().cloned().collect::<Manifests>();
        let input = PreviewInput {
            policy: &policy,
            files: &files,
            old: Some(&old_files),
            cluster: &cluster,
            accepted: &[],
            fixed_nodes: false,
        };
        let preview = input.preview(|_, _| {}).with_context(|| format!("case {case}"))?;
        let (old, new) = (Oracle::new(&policy, &objects, &old), Oracle::new(&policy, &objects, &new));
        let opens = preview.opens.context("a comparison")?;
        for namespace in old.namespaces()?.keys() {
            let (Some(before), Some(after)) = (old.usable_nodes(namespace)?, new.usable_nodes(namespace)?) else {
                continue;
            };
            let gained: BTreeSet<String> = after.difference(&before).cloned().collect();
            let told = opens.iter().find(|opening| opening.namespace == *namespace);
            let told: BTreeSet<String> = told.into_iter().flat_map(|opening| opening.nodes.clone()).collect();
            ensure!(told == gained, "case {case}: {namespace} gains {gained:?}, the preview says {told:?}");
            *(if gained.is_empty() { &mut same } else { &mut opened }) += 1;
        }
        ensure!(opens.is_empty() || !preview.verdict.ready, "case {case}: a fence opens, and nothing gets worse");
    }
    ensure!(opened >= 50 && same >= 50, "{opened} fences open, {same} do not");
    Ok(())
}
