//! A member that an object has twice. An API server sends none; the audit scanner and `kwctl` may. Wherever it stands, it
//! is treated alike: the request can't be read, or the last one counts, as for the host and for Kubernetes.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use e2e_tests::{Answer, NoCluster, Policy, admission_request, payload, policy_under_test, read_document};
use serde_json::json;

/// The spec of a Pod, in which `TWICE` stands for a member; and this member as it is refused, and as it is let in.
const PLACES: [(&str, &str, &str, &str); 7] = [
    ("a pair", r#"{"nodeSelector":{TWICE}}"#, r#""pool":"b""#, r#""pool":"a""#),
    ("a nodeSelector", "{TWICE}", r#""nodeSelector":{"pool":"b"}"#, r#""nodeSelector":{"pool":"a"}"#),
    ("tolerations", "{TWICE}", r#""tolerations":[{"key":"x"}]"#, r#""tolerations":[]"#),
    (
        "the key of a toleration",
        r#"{"tolerations":[{TWICE,"operator":"Exists"}]}"#,
        r#""key":"x""#,
        r#""key":"allowed""#,
    ),
    ("the key of an expression", TERM, r#""key":"other""#, r#""key":"pool""#),
    ("the values of an expression", VALUES, r#""values":["b"]"#, r#""values":["a"]"#),
    (
        "the terms of node affinity",
        TERMS,
        r#""nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In","values":["b"]}]}]"#,
        r#""nodeSelectorTerms":[{}]"#,
    ),
];

const TERM: &str = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{TWICE,"operator":"In","values":["a"]}]}]}}}}"#;
const VALUES: &str = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"pool","operator":"In",TWICE}]}]}}}}"#;
const TERMS: &str = r#"{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{TWICE}}}}"#;

/// The code of a rejection; 0, if there is none.
fn outcome(policy: &Policy, spec: &str) -> Result<u16> {
    let file = format!("{}/fixtures/requests/pod-create.json", env!("CARGO_MANIFEST_DIR"));
    let mut request = admission_request(&read_document(file.as_ref())?).clone();
    request["object"]["spec"] = json!("SPEC");
    let entry = json!({"name": "*", "allowedNodeSelector": "pool=a", "allowedTolerations": [{"key": "allowed", "operator": "Exists"}]});
    let settings = json!({"placement": {"namespaceAnnotations": [], "namespaces": [entry]}});
    let payload = String::from_utf8(payload(&request, &settings))?.replace(r#""SPEC""#, spec);
    let call = policy.call("validate", payload.as_bytes(), NoCluster);
    let answer: Answer = serde_json::from_slice(&call.result.map_err(anyhow::Error::msg)?)?;
    Ok(answer.code.unwrap_or_default())
}

#[test]
fn a_repeated_member_is_treated_alike_everywhere() -> Result<()> {
    let policy = policy_under_test()?;
    let mut treated: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (place, spec, refused, let_in) in PLACES {
        let outcome = |members: &str| outcome(&policy, &spec.replace("TWICE", members));
        ensure!(outcome(refused)? == 403 && outcome(let_in)? == 0, "{place}: neither is as expected");
        let (first, last) = (outcome(&format!("{let_in},{refused}"))?, outcome(&format!("{refused},{let_in}"))?);
        let how = match (first, last) {
            (400, 400) => "it can't be read",
            (403, 0) => "the last counts",
            (0, 403) => "the first counts",
            (403, 403) => "both count",
            _ => bail!("{place}: {first} and {last}"),
        };
        treated.entry(how).or_default().push(place);
    }
    ensure!(treated.len() == 1 && !treated.contains_key("the first counts"), "{treated:?}");
    Ok(())
}
