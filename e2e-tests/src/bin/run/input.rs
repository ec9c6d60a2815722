use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use e2e_tests::{
    Cluster, Lacks, Manifests, NoCluster, Policy, Session, SettingsFile, admission_request, lacks,
    preview::of_manifest, read_document,
};
use node_placement_policy::settings::mistakes;
use serde_json::Value;

use crate::{Arguments, Operation};

/// Fails, by the name of the variable that says so, if a path leads nowhere.
fn there<'p>(variable: &str, path: &'p Path) -> Result<&'p Path> {
    ensure!(path.exists(), "{variable}: no such file: {}", path.display());
    Ok(path)
}

impl Arguments {
    /// The request: as it is, or made of a manifest.
    pub fn asked(&self, path: &Path) -> Result<Value> {
        let document = read_document(there("REQUEST", path)?)?;
        let asked = admission_request(&document);
        if asked.get("operation").is_some() {
            let plain = "go with a plain manifest, and REQUEST says by itself what is asked";
            ensure!(self.operation.is_none() && self.old.is_none(), "OPERATION, OLD: these {plain}");
            return Ok(asked.clone());
        }
        ensure!(
            asked.get("kind").is_some() && asked.get("metadata").is_some_and(Value::is_object),
            "REQUEST: {}: expected an AdmissionReview, the request in one, or a manifest",
            path.display()
        );
        let old = match (self.operation, &self.old) {
            (Some(Operation::Update), Some(old)) => Some(read_document(there("OLD", old)?)?),
            (Some(Operation::Update), None) => bail!("OLD: say what the object was before: OPERATION is UPDATE"),
            (_, Some(_)) => bail!("OLD: this goes with OPERATION=UPDATE"),
            (_, None) => None,
        };
        let kind = asked["kind"].clone();
        of_manifest(asked.clone(), old)
            .with_context(|| format!("REQUEST: {}: the policy has no business with a {kind}", path.display()))
    }

    /// The settings, and what is to be said about the policy around them, a line each.
    ///
    /// # Errors
    /// All mistakes, a line each.
    pub fn settings(&self, policy: &Policy) -> Result<(SettingsFile, Vec<String>)> {
        let expected =
            "a file with what stands under spec.settings of a policy, or with a whole ClusterAdmissionPolicy";
        let path = self.settings.as_ref().with_context(|| {
            format!("SETTINGS: say which settings the policy would have: {expected}, such as examples/placement.yml")
        })?;
        let file = SettingsFile::load(there("SETTINGS", path)?).context("SETTINGS")?;
        let Lacks { mut context_aware_resources, rules } = match &file.deployment {
            Some(deployment) => lacks(&file.settings, deployment),
            None => Lacks::default(),
        };
        let mut wrong = invalid(policy, &file.settings)?;
        wrong.append(&mut context_aware_resources);
        let lines = |lines: Vec<String>| lines.into_iter().map(|line| format!("{}: {line}", path.display()));
        ensure!(wrong.is_empty(), "{}", lines(wrong).collect::<Vec<_>>().join("\n"));
        Ok((file, lines(rules).collect()))
    }

    pub fn cluster(&self) -> Result<(Box<dyn Cluster>, Manifests)> {
        let manifests = self.manifests()?;
        Ok(match (&manifests, &self.session) {
            (Some(manifests), _) => (Box::new(manifests.clone()), manifests.clone()),
            (None, Some(file)) => (Box::new(Session::load(there("--session", file)?)?), Manifests::default()),
            (None, None) => (Box::new(NoCluster), Manifests::default()),
        })
    }

    pub fn manifests(&self) -> Result<Option<Manifests>> {
        let load = |path: &PathBuf| Manifests::load(there("CLUSTER", path)?).context("CLUSTER");
        self.cluster.as_ref().map(load).transpose()
    }
}

/// The mistakes that the policy finds in its settings. It tells all of them in one sentence; the crate that it is made
/// of has them one by one.
fn invalid(policy: &Policy, settings: &Value) -> Result<Vec<String>> {
    let answer = policy.validate_settings(settings)?;
    if answer.valid {
        return Ok(vec![]);
    }
    let message = answer.message.unwrap_or_default();
    let mistakes: Vec<String> = mistakes(&settings.to_string()).iter().map(ToString::to_string).collect();
    Ok(if mistakes.join("; ") == message { mistakes } else { vec![message] })
}
