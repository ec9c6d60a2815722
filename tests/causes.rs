//! Why something is rejected, as data.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "these are tests")]
#![allow(clippy::unnecessary_wraps, reason = "it reads better so")]

use node_placement_policy::decision::{Cause, CauseKind};
use node_placement_policy::evaluate;
use node_placement_policy::settings::{Setting, SettingPath};
use serde_json::{Value, json};

use crate::common::{TestCluster, request};

const NOTHING: Cause = Cause {
    kind: CauseKind::Requests,
    setting: None,
    annotation: None,
    namespace: None,
    label: None,
    taint: None,
    required: None,
    requested: None,
    detail: None,
};

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The cause for a Pod of namespace `team-a` with this spec.
fn cause(spec: &Value, entry: &Value) -> Option<Cause> {
    let request = request("pods", "CREATE", json!({"metadata": {"name": "web"}, "spec": spec}));
    let settings = json!({"placement": {"namespaces": [entry]}});
    let cluster = TestCluster::with_annotations(json!({}));
    evaluate(json!({"request": request, "settings": settings}).to_string().as_bytes(), &cluster).cause
}

#[test]
fn nothing_is_rejected_without_a_cause() {
    assert_eq!(cause(&json!({}), &json!({"name": "team-a", "requiredNodeSelector": "pool=blue"})), None);
}

#[test]
fn a_conflict_names_demand_and_request() {
    let expected = Cause {
        setting: Some(SettingPath::Entry(0, Setting::RequiredNodeSelector)),
        namespace: text("team-a"),
        label: text("pool"),
        required: text("pool=blue"),
        requested: text("pool=red"),
        ..NOTHING
    };
    let spec = json!({"nodeSelector": {"pool": "red"}});
    let entry = json!({"name": "team-a", "requiredNodeSelector": "pool=blue"});
    assert_eq!(cause(&spec, &entry), Some(expected.clone()));
    let warned = json!({"name": "team-a", "requiredNodeSelector": "pool=blue", "enforcement": "Warn"});
    assert_eq!(cause(&spec, &warned), Some(expected));
}

#[test]
fn a_whitelist_and_a_toleration_are_named() {
    let expected = Cause {
        setting: Some(SettingPath::Entry(0, Setting::AllowedNodeSelector)),
        namespace: text("team-a"),
        label: text("pool"),
        required: text("pool in (a,b)"),
        requested: text("pool=c"),
        ..NOTHING
    };
    let entry = json!({"name": "team-a", "allowedNodeSelector": "pool in (a,b)"});
    assert_eq!(cause(&json!({"nodeSelector": {"pool": "c"}}), &entry), Some(expected));

    let expected = Cause {
        setting: Some(SettingPath::Entry(0, Setting::ForbiddenTolerations)),
        namespace: text("team-a"),
        taint: text("dedicated:NoSchedule"),
        ..NOTHING
    };
    let spec = json!({"tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}]});
    let entry = json!({"name": "team-a", "forbiddenTolerations": [{"key": "dedicated", "operator": "Exists"}]});
    assert_eq!(cause(&spec, &entry), Some(expected));
}

#[test]
fn a_missing_label_is_named() {
    let expected = Cause {
        kind: CauseKind::MissingLabel,
        setting: Some(SettingPath::Entry(0, Setting::RequiredNodeSelector)),
        namespace: text("team-a"),
        label: text("tenant"),
        ..NOTHING
    };
    let entry = json!({"name": "team-a", "requiredNodeSelector": "pool=$(tenant)"});
    assert_eq!(cause(&json!({}), &entry), Some(expected));
}

#[test]
fn a_setting_and_an_annotation_that_contradict_each_other_are_named() {
    let request = request("pods", "CREATE", json!({"metadata": {"name": "web"}, "spec": {}}));
    let entry = json!({"name": "team-a", "requiredNodeSelector": "pool=blue"});
    let settings = json!({"placement": {"namespaces": [entry]}});
    let annotation = "scheduler.alpha.kubernetes.io/node-selector";
    let cluster = TestCluster::with_annotations(json!({annotation: "pool=red"}));
    let payload = json!({"request": request, "settings": settings}).to_string();
    let expected = Cause {
        kind: CauseKind::Contradiction,
        setting: Some(SettingPath::Entry(0, Setting::RequiredNodeSelector)),
        annotation: text(annotation),
        namespace: text("team-a"),
        label: text("pool"),
        required: text("pool=red"),
        ..NOTHING
    };
    assert_eq!(evaluate(payload.as_bytes(), &cluster).cause, Some(expected));
}

#[test]
fn a_path_reads_as_in_the_settings() {
    let path = SettingPath::Entry(0, Setting::RequiredNodeSelector);
    assert_eq!(path.to_string(), "placement.namespaces[0].requiredNodeSelector");
}

#[test]
fn what_cannot_be_read_has_a_cause_too() {
    let cause = evaluate(b"{}", &TestCluster::default()).cause.unwrap();
    assert_eq!(cause.kind, CauseKind::Unreadable);
}
