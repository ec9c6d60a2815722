//! The preview tells of each workload what brute force finds.

mod cluster;
mod law;
mod matching;
mod oracle;

use std::collections::BTreeMap;

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
    let (policy, mut dice) = (Policy::native(), Dice(2));
    let mut met: BTreeMap<(String, bool), usize> = BTreeMap::new();
    for case in 0..CASES {
        let (settings, objects) = any_case(&mut dice, &policy)?;
        let files = SettingsFile::read_all(vec![settings.clone()])?;
        let cluster = objects.iter().cloned().collect::<Manifests>().into();
        let input = PreviewInput { policy: &policy, files: &files, old: None, cluster: &cluster, accepted: &[] };
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
                wrong.is_empty() && found.len() == expected.len(),
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
