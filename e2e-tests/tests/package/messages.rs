//! What the page about trouble quotes is what the module says.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use e2e_tests::testing::Suite;
use serde_json::json;

use super::{file, policy};

/// What others say: Kubernetes, policy-server, and the host, whose words a case has in another form.
const OF_OTHERS: [&str; 4] = [
    "FailedScheduling … failed calling webhook …",
    "… node(s) had untolerated taint …",
    "… attempted to mutate the request, but it is currently configured to not allow mutations",
    "… can't be read: Policy has not been granted access to Kubernetes v1/Node resources …",
];

/// What users see is in the first column; `…` stands for anything.
#[test]
fn what_is_quoted_is_said() -> Result<()> {
    let said = said()?;
    let page = fs::read_to_string(file("docs/troubleshooting.md"))?;
    let (mut count, mut unknown) = (0, vec![]);
    for cell in page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).map(|(cell, _)| cell) {
        for quote in cell.split('`').skip(1).step_by(2).filter(|quote| quote.contains('…')) {
            if OF_OTHERS.contains(&quote) {
                continue;
            }
            if !said.iter().any(|text| matches(quote, text)) {
                unknown.push(quote);
            }
            count += 1;
        }
    }
    ensure!(unknown.is_empty(), "no case ends with any of {unknown:#?}");
    ensure!(count > 30, "only {count} quotes");
    Ok(())
}

/// Whether the parts between the ellipses stand in the text, one after the other.
fn matches(quote: &str, text: &str) -> bool {
    let pattern = quote.replace("<namespace>", "…");
    let mut rest = text;
    pattern.split('…').all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

/// All messages and warnings of the cases, and of settings with mistakes.
fn said() -> Result<Vec<String>> {
    let policy = policy()?;
    let mut said = vec![];
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"))? {
        for test in Suite::load(&entry?.path())?.tests {
            for case in &test.cases {
                let deployed = test.deployed(case)?;
                let settings = &deployed.first().context("no settings")?.settings;
                said.extend(policy.validate_settings(settings)?.message);
                let answer = policy.validate(&test.request(case)?, settings, test.cluster().clone())?.answer;
                said.extend(answer.message);
                said.extend(answer.warnings.unwrap_or_default());
            }
        }
    }
    let mistakes = [
        json!({ "clusterDefaultNodeSelector": { "pool": "a" } }),
        json!({ "onNodename": "Reject" }),
        json!({ "exemptUsernames": ["system:kube-controller-manager"] }),
        json!({ "guardedNodeLabels": ["agentpool"] }),
    ];
    for placement in mistakes {
        let answer = policy.validate_settings(&json!({ "placement": placement }))?;
        said.push(answer.message.with_context(|| format!("{placement} is valid"))?);
    }
    Ok(said)
}
