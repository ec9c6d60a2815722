//! One answer: `try`, `test`, `explain` and `preview` agree on whether a manifest is accepted, on the nodes and NodePools
//! that can run its Pods, and on the reason.
//!
//! The manifests are those of `e2e-tests/cases`, of the planted clusters, of the tour under each example, and random ones.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context, Result, ensure};
use cli::{
    Manifests, Policy, SettingsFile,
    cluster::Cluster,
    explain::{explain, subject::SubjectName},
    input::documents::yaml_documents,
    preview::{Outcome, PreviewInput},
    testing::{Suite, file::NamedFiles},
    trial::{Trial, TrialResult},
    webhook::{deployment::Deployment, request::request_from},
};
use serde_json::{Value, json};

use super::cluster::Dice;

/// A manifest, the settings, and what else is in the cluster.
struct World {
    name: String,
    files: Vec<SettingsFile>,
    /// The settings as one document, if they are one.
    document: Option<Value>,
    others: Vec<Value>,
    manifest: Value,
}

/// What a command answers.
#[derive(Debug, PartialEq)]
struct Answer {
    /// Why it, or its Pods, are refused, if they are.
    refused: Option<String>,
    /// The nodes and NodePools that can run its Pods, now or when a passing condition ends. A preview only knows whether
    /// there are some.
    places: Places,
}

#[derive(Debug)]
enum Places {
    /// Those that can run Pods now, and those that can when a passing condition ends.
    Known(BTreeSet<String>, BTreeSet<String>),
    /// None can now.
    None,
    /// Some of those that are known elsewhere, and none of these: Bindings to them are refused.
    NotOn(BTreeSet<String>),
    Unknown,
}

impl PartialEq for Places {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) | (Self::None, Self::None) => true,
            (Self::Known(now, later), Self::Known(others, others_later)) => now == others && later == others_later,
            (Self::Known(now, _), Self::None) | (Self::None, Self::Known(now, _)) => now.is_empty(),
            (Self::Known(now, later), Self::NotOn(refused)) | (Self::NotOn(refused), Self::Known(now, later)) => {
                !now.is_empty() && now.is_disjoint(refused) && later.is_disjoint(refused)
            }
            (Self::NotOn(_), _) | (_, Self::NotOn(_)) => false,
        }
    }
}

impl World {
    fn kind(&self) -> &str {
        self.manifest["kind"].as_str().unwrap_or_default()
    }

    fn cluster(&self) -> Result<Manifests> {
        Manifests::default().with(self.others.iter().cloned().chain([self.manifest.clone()]))
    }

    /// What `try` answers; none, where it can't be evaluated.
    fn tried(&self, policy: &Policy) -> Result<Option<Answer>> {
        let known = self.cluster()?;
        let deployment = Deployment::new(policy, &self.files);
        let trial = Trial { deployment: &deployment, known: &known };
        let Some(request) = request_from(&self.manifest, None)? else { return Ok(None) };
        let TrialResult { review, pods, .. } = trial.judge_with_nodes(&request)?;
        if review.gap().is_some() {
            return Ok(None);
        }
        let evaluation = review.together();
        let own = Some(&evaluation.answer).filter(|answer| !answer.accepted);
        let rejection = own.or(pods.as_ref().and_then(|pods| pods.rejection.as_ref()));
        let refused = rejection.map(|answer| answer.message.clone().unwrap_or_default());
        let known = pods.as_ref().map(|pods| &pods.places).filter(|places| places.nodes.is_some());
        let places = match known {
            _ if refused.is_some() => Places::None,
            Some(known) => {
                let now = known.nodes.iter().chain(&known.node_pools).flatten();
                Places::Known(now.cloned().collect(), known.not_now.iter().flatten().cloned().collect())
            }
            None => Places::Unknown,
        };
        Ok(Some(Answer { refused, places }))
    }

    /// What `test` says that is otherwise than expected.
    fn tested(&self, policy: &Policy, expected: &Answer) -> Result<Vec<String>> {
        let Some(settings) = &self.document else { return Ok(vec![]) };
        let mut expect = json!({ "accepted": expected.refused.is_none() });
        if let Some(message) = expected.refused.as_ref().filter(|message| !message.is_empty()) {
            expect["message"] = json!(message);
        }
        if let Places::Known(now, later) = &expected.places {
            expect["nodes"] = json!(now.union(later).collect::<Vec<_>>());
        }
        let mut cluster = self.others.clone();
        cluster.push(self.manifest.clone());
        let case = json!({ "name": "c", "manifest": self.manifest, "expect": expect });
        let tests = json!({ "tests": [{ "name": "t", "settings": settings, "cluster": cluster, "cases": [case] }] });
        let suite = Suite::parse(&tests.to_string(), "law", NamedFiles::default())?;
        let [test] = suite.tests.as_slice() else { return Ok(vec![]) };
        let [case] = test.cases.as_slice() else { return Ok(vec![]) };
        let (_, mismatches) = test.check(case, policy)?;
        Ok(mismatches.into_iter().map(|it| format!("test: {}: {} / {}", it.field, it.expected, it.found)).collect())
    }

    fn explained(&self, policy: &Policy) -> Result<Option<Answer>> {
        let metadata = &self.manifest["metadata"];
        let namespace = metadata["namespace"].as_str().context("a namespace")?;
        let name = format!("{}/{}", self.kind(), metadata["name"].as_str().context("a name")?);
        let (listed, name) = (self.cluster()?, SubjectName::read(&name)?);
        let explained = explain(policy, &self.files, &listed, namespace, Some(&name))?;
        if explained.is_unknown {
            return Ok(None);
        }
        let is_refused = explained.is_refused();
        let fit = explained.subject.with_policy;
        let now = fit.pools.iter().flat_map(|pool| pool.usable().iter().chain(&pool.creates));
        let later = fit.pools.iter().flat_map(|pool| pool.not_now());
        let places = match fit.pools.is_empty() {
            true if is_refused => Places::None,
            true => Places::Unknown,
            false => Places::Known(now.cloned().collect(), later.cloned().collect()),
        };
        let refused = fit.refused.filter(|_| is_refused);
        let refused = refused.map(|refused| refused.text.trim_start_matches("its Pods are refused: ").to_owned());
        Ok(Some(Answer { refused, places }))
    }

    fn previewed(&self, policy: &Policy) -> Result<Option<Answer>> {
        let cluster = self.cluster()?;
        let input = PreviewInput {
            policy,
            files: &self.files,
            old: None,
            cluster: &cluster,
            accepted: &[],
            fixed_nodes: false,
        };
        let preview = input.preview(|_, _| {})?;
        let metadata = &self.manifest["metadata"];
        let is_own = |name: &str, namespace: &str, kind: &str| {
            metadata["name"] == name && metadata["namespace"] == namespace && self.kind() == kind
        };
        let mut rows = preview.workloads.iter();
        let Some(row) = rows.find(|row| is_own(&row.name, &row.namespace, &row.kind)) else { return Ok(None) };
        let forecast = row.finding.forecast;
        let (outcome, is_real) = (forecast.outcome, !forecast.would_be);
        let refused = row.finding.reason.clone().filter(|_| outcome == Outcome::Refused && is_real);
        let places = match outcome {
            Outcome::CannotTell if is_real && row.nodes.is_empty() => return Ok(None),
            Outcome::CannotTell if is_real => Places::NotOn(row.nodes.iter().cloned().collect()),
            Outcome::Refused | Outcome::Waits if is_real => Places::None,
            _ => Places::Unknown,
        };
        Ok(Some(Answer { refused, places }))
    }

    /// How the commands contradict each other.
    fn contradictions(&self, policy: &Policy) -> Result<Vec<String>> {
        let Some(tried) = self.tried(policy)? else { return Ok(vec![]) };
        let mut found = self.tested(policy, &tried)?;
        for (command, answer) in [("explain", self.explained(policy)?), ("preview", self.previewed(policy)?)] {
            match answer {
                Some(answer) if answer == tried => {}
                // Nor does `try` know where it could run.
                None if tried.refused.is_none() && matches!(tried.places, Places::Unknown) => {}
                Some(answer) => found.push(format!("{command}: {answer:?}; try: {tried:?}")),
                None => found.push(format!("{command}: could not be evaluated; try: {tried:?}")),
            }
        }
        Ok(found)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(""))
}

fn yaml_files(folder: &str) -> Result<Vec<(String, String)>> {
    let mut files = vec![];
    for entry in fs::read_dir(root().join(folder)).with_context(|| folder.to_owned())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yml") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push((name, fs::read_to_string(&path)?));
        }
    }
    files.sort();
    Ok(files)
}

/// Whether somebody could apply the object: it makes Pods, and nothing of it is there yet.
fn is_manifest(object: &Value) -> bool {
    let kinds =
        ["Pod", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController"];
    let metadata = &object["metadata"];
    kinds.iter().any(|kind| object["kind"] == *kind)
        && metadata["name"].is_string()
        && metadata["namespace"].is_string()
        && ["ownerReferences", "deletionTimestamp"].iter().all(|field| metadata[field].is_null())
        && object["spec"]["nodeName"].is_null()
        && object["spec"]["schedulingGates"].is_null()
        && metadata["annotations"]["kubernetes.io/config.mirror"].is_null()
}

/// One world for each manifest among the objects of a cluster.
fn worlds(name: &str, files: &[SettingsFile], document: Option<&Value>, objects: &[Value]) -> Vec<World> {
    let is_other =
        |object: &&Value| ["Namespace", "Node", "NodePool", "RuntimeClass"].iter().any(|kind| object["kind"] == *kind);
    // An API server has no object with a field of a wrong type.
    let is_stored = |object: &&Value| Cluster::new(&Manifests::from_iter([(*object).clone()])).is_ok();
    let others: Vec<Value> = objects.iter().filter(is_other).filter(is_stored).cloned().collect();
    let world = |object: &Value| {
        let mut manifest = object.clone();
        let mut others = others.clone();
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace",
            "metadata": { "name": object["metadata"]["namespace"] } });
        let is_there =
            |it: &Value| it["kind"] == "Namespace" && it["metadata"]["name"] == namespace["metadata"]["name"];
        if !others.iter().any(is_there) {
            others.push(namespace);
        }
        manifest.as_object_mut().map(|members| members.remove("status"));
        let name = format!("{name}: {} {}", object["kind"], object["metadata"]["name"]);
        World { name, files: files.to_vec(), document: document.cloned(), others, manifest }
    };
    objects.iter().filter(|object| is_manifest(object)).map(world).collect()
}

fn worlds_of_cases() -> Result<Vec<World>> {
    let mut found = vec![];
    for (name, text) in yaml_files("e2e-tests/cases")? {
        let suite = Suite::parse(&text, &name, NamedFiles::in_folder(&root().join("e2e-tests/cases")))?;
        for test in &suite.tests {
            let others: Vec<Value> = test.cluster().objects().iter().map(|object| object.parse()).collect();
            for case in &test.cases {
                let Ok(request) = test.request(case) else { continue };
                let is_plain = request["operation"] == "CREATE"
                    && request["userInfo"]["username"] == "kubernetes-admin"
                    && request["subResource"].is_null();
                let files = test.deployed(case)?;
                let [file] = files.as_slice() else { continue };
                if !is_plain || file.policy.is_some() || !Policy::native().validate_settings(&file.settings)?.valid {
                    continue;
                }
                let mut manifest = request["object"].clone();
                if !manifest["metadata"].is_object() {
                    continue;
                }
                manifest["metadata"]["name"] = "subject".into();
                manifest["metadata"].as_object_mut().map(|members| members.remove("generateName"));
                let objects = [others.as_slice(), &[manifest]].concat();
                let name = format!("{name}: {}: {}", test.name, case.name);
                let own = worlds(&name, &files, Some(&file.settings), &objects);
                found.extend(own.into_iter().filter(|world| world.manifest["metadata"]["name"] == "subject"));
            }
        }
    }
    Ok(found)
}

fn worlds_of_planted_clusters() -> Result<Vec<World>> {
    let mut found = vec![];
    for (name, text) in yaml_files("cli/tests/previews")? {
        let planted: Value = yaml_serde::from_str(&text).with_context(|| name.clone())?;
        let objects = planted["cluster"].as_array().cloned().unwrap_or_default();
        // Replicas that must be apart are many Pods; the other commands are asked about one.
        let are_many = name == "replicas-in-more-zones-than-the-fence-has.yml";
        if !planted["unlisted"].is_null() || !planted["beside"].is_null() || are_many {
            continue;
        }
        let document = match planted["policy"].is_null() {
            true => planted["settings"].clone(),
            false => {
                let mut spec = planted["policy"].clone();
                spec["settings"] = planted["settings"].clone();
                let metadata = json!({ "name": "placement" });
                let version = "policies.kubewarden.io/v1";
                json!({ "apiVersion": version, "kind": "ClusterAdmissionPolicy", "metadata": metadata, "spec": spec })
            }
        };
        let files = SettingsFile::read_all(vec![document.clone()])?;
        found.extend(worlds(&name, &files, Some(&document), &objects));
    }
    Ok(found)
}

fn worlds_of_examples() -> Result<Vec<World>> {
    let mut objects = vec![];
    for (_, text) in yaml_files("cli/tour/cluster")? {
        objects.extend(yaml_documents(&text)?);
    }
    let mut found = vec![];
    for (name, text) in yaml_files("examples")? {
        let documents = yaml_documents(&text)?;
        let Ok(files) = SettingsFile::read_all(documents.clone()) else { continue };
        let document = documents.first().filter(|_| documents.len() == 1);
        found.extend(worlds(&name, &files, document, &objects));
    }
    Ok(found)
}

fn random_worlds(count: usize) -> Result<Vec<World>> {
    let (policy, mut dice, mut found) = (Policy::native(), Dice(61, false), vec![]);
    while found.len() < count {
        let (settings, objects) = super::any_case(&mut dice, &policy)?;
        let files = SettingsFile::read_all(vec![settings.clone()])?;
        found.extend(worlds(&format!("random {}", found.len()), &files, Some(&settings), &objects));
    }
    Ok(found)
}

/// The file with what the commands still contradict each other about, one line each: the world and the command.
const KNOWN: &str = "cli/tests/brute_force/law-exceptions.txt";

#[test]
fn all_commands_give_one_answer() -> Result<()> {
    let corpus = [worlds_of_cases()?, worlds_of_planted_clusters()?, worlds_of_examples()?];
    let counts: Vec<usize> = corpus.iter().map(Vec::len).collect();
    ensure!(counts.iter().zip([200, 80, 20]).all(|(found, least)| *found >= least), "too few manifests: {counts:?}");
    let (policy, mut wrong, mut compared) = (Policy::native(), vec![], 0);
    let mut mistaken = 0;
    let exceptions = fs::read_to_string(root().join(KNOWN))?;
    let mut known: BTreeSet<&str> = exceptions.lines().collect();
    let mut seen = BTreeSet::new();
    for world in corpus.into_iter().flatten().chain(random_worlds(1000)?) {
        // A manifest with a field of a wrong type: all commands say so.
        let Ok(contradictions) = world.contradictions(&policy) else {
            mistaken += 1;
            continue;
        };
        for text in contradictions {
            let line = format!("{}: {}", world.name, text.split(':').next().unwrap_or_default());
            if exceptions.lines().any(|known| known == line) {
                seen.insert(line);
            } else {
                wrong.push(format!("{}: {text}", world.name));
            }
        }
        compared += 1;
    }
    ensure!(mistaken <= 130, "{mistaken} manifests could not be read");
    ensure!(compared >= 1_600, "only {compared} manifests were compared");
    known.retain(|line| !seen.contains(*line));
    ensure!(
        wrong.is_empty() && known.is_empty(),
        "{} of {compared} contradict each other:\n{}\nthese no longer do; remove them from the list:\n{known:#?}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}
