//! What is wrong with settings, and with the ClusterAdmissionPolicies around them: all of it for a file, each line with its
//! position.
//!
//! | modules | what they look at |
//! |---|---|
//! | [`settings`], `fences` | settings: mistakes, and remarks where they are valid |
//! | [`fields`] | fields of a policy that the API server or Kubewarden refuses, or that are unknown |
//! | `needs` | what settings need of the policy: rules, look-ups, `failurePolicy` |
//! | [`kept_away`], `samples` | its `matchConditions`, by sample requests, and its `namespaceSelector` |

mod fences;
pub mod fields;
pub mod finding;
pub mod kept_away;
mod needs;
mod samples;
pub mod settings;

use anyhow::Result;
use serde::Serialize;

use self::finding::{Finding, Findings};
use crate::{
    Policy, SettingsFile,
    input::{
        json::{WrongType, title},
        yaml::{self, Document, RepeatedKey},
    },
    webhook::settings_file::is_foreign,
};

/// What `check` finds, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Check"))]
pub struct Lines {
    /// What can't be meant, each as `FILE:LINE:COLUMN: PATH: TEXT`.
    pub mistakes: Vec<String>,
    /// What may be meant, each as `FILE:LINE:COLUMN: PATH: TEXT`.
    pub remarks: Vec<String>,
}

impl Lines {
    /// Returns those for a file of this name.
    pub fn new(findings: &Findings, file: &str) -> Self {
        let lines = |list: &[Finding]| list.iter().map(|finding| format!("{file}:{finding}")).collect();
        Self { mistakes: lines(&findings.mistakes), remarks: lines(&findings.remarks) }
    }
}

/// Looks at all documents of a file, up to the first that can't be read. `engine` is the policy that decides whether settings
/// are valid.
///
/// # Errors
/// The file is empty, or the policy can't be run.
pub fn check(text: &str, engine: &Policy) -> Result<Findings> {
    let read = yaml::read(text);
    if read.documents.is_empty() && read.error.is_none() {
        SettingsFile::read_all(vec![])?;
    }
    let mut found = Findings::default();
    let (mut documents, mut files) = (vec![], vec![]);
    let are_all_foreign = read.documents.iter().all(|document| is_foreign(&document.value));
    for document in &read.documents {
        if is_foreign(&document.value) && !are_all_foreign {
            add(&mut found, passed_over(document), document, None);
            continue;
        }
        match SettingsFile::read(document.value.clone()) {
            Ok(file) => {
                documents.push(document);
                files.push(file);
            }
            Err(error) => add(&mut found, unreadable(document, &error), document, None),
        }
    }
    for (position, (document, file)) in documents.iter().zip(&files).enumerate() {
        let mut own = findings(file, &files, engine)?;
        find_misplaced(file, files.get(..position).unwrap_or_default(), documents.len(), &mut own);
        if file.policy.is_some() {
            fields::find_beside_spec(&document.value, &mut own);
        }
        own.mistakes.extend(document.repeated_keys().map(repeated));
        add(&mut found, own, document, file.name.as_ref().filter(|_| files.len() > 1));
    }
    if let Some(error) = read.error {
        let text = format!("{}; what follows was not checked", error.problem);
        found.mistakes.push(Finding { position: Some(error.position), ..Finding::new("", text) });
    }
    Ok(found)
}

/// Returns what is wrong with a document because of the others in its file: there are `count`, and these `before` it.
fn find_misplaced(file: &SettingsFile, before: &[SettingsFile], count: usize, findings: &mut Findings) {
    if file.policy.is_none() && count > 1 {
        findings.mistake("", format!("settings must stand alone in their file; found {count} documents"));
    }
    let is_repeated = |name: &&String| before.iter().any(|earlier| earlier.name.as_ref() == Some(*name));
    if let Some(name) = file.name.as_ref().filter(is_repeated) {
        findings.mistake(fields::NAME, format!("{name:?} stands there already; this one would overwrite it"));
    }
}

/// Adds what is found in a document, with its positions there.
fn add(found: &mut Findings, mut own: Findings, document: &Document, policy: Option<&String>) {
    for finding in own.mistakes.iter_mut().chain(&mut own.remarks) {
        let path = path_in(document, finding);
        finding.position = finding.position.or_else(|| document.position(&path));
        if let Some(word) = document.word(&path) {
            finding.text += &format!("; without quotes {word} is true or false in YAML: write \"{word}\"");
        }
        finding.policy = policy.cloned();
    }
    found.mistakes.extend(own.mistakes);
    found.remarks.extend(own.remarks);
}

/// Returns a document that is no policy of this module, beside some that are.
fn passed_over(document: &Document) -> Findings {
    let text = format!("{} is no policy of this module, and is passed over", title(&document.value));
    Findings { mistakes: vec![], remarks: vec![Finding::new("", text)] }
}

/// Returns what is wrong with a document that is neither settings nor a policy, or is a policy that can't be read.
fn unreadable(document: &Document, error: &anyhow::Error) -> Findings {
    let mut findings = Findings::default();
    if error.is::<WrongType>() {
        fields::find_wrong_types(&document.value, &mut findings);
        fields::find_beside_spec(&document.value, &mut findings);
    } else {
        findings.mistakes.push(Finding::from_line(&format!("{error:#}")));
    }
    findings
}

/// Returns a key that a mapping has twice. kubectl would take the last one.
fn repeated(key: &RepeatedKey) -> Finding {
    let finding = Finding::new(&*key.path, "this key stands there twice; remove one of them");
    Finding { position: Some(key.position), ..finding }
}

/// Returns the path of the field of a finding in a document, which is settings, or a policy that has them.
fn path_in(document: &Document, finding: &Finding) -> String {
    let path = finding.place();
    let path = path.trim_start_matches('.');
    // The paths of mistakes in settings begin below `spec.settings`.
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let is_around = first == "apiVersion" || document.value.get(first).is_some();
    let prefix = if document.value["spec"].is_object() && !is_around { "spec.settings." } else { "" };
    format!("{prefix}{path}")
}

/// Returns what is wrong with settings, and with the policy around them, which is one of the `files` of its deployment.
///
/// # Errors
/// The policy can't be run.
pub fn findings(file: &SettingsFile, files: &[SettingsFile], engine: &Policy) -> Result<Findings> {
    let mut findings = Findings { mistakes: settings::mistakes(&file.settings, engine)?, remarks: vec![] };
    let is_valid = findings.mistakes.is_empty();
    if let Some(policy) = &file.policy {
        fields::find(policy, &mut findings);
        needs::find_in_fields(file, policy, &mut findings);
        needs::find_in_rules(file, policy, files, &mut findings);
        kept_away::find_in_conditions(file, policy, &mut findings);
        findings.remarks.extend(kept_away::exempt_entries(file, policy));
    }
    // What is to be said of settings in another policy of the same deployment is said there.
    let only_reports = file.policy.as_ref().is_some_and(|policy| policy.only_reports());
    let placement = file.typed.placement.as_ref();
    if let Some(placement) = placement.filter(|_| is_valid && !file.is_about_nodes() && !only_reports) {
        let deployment = files.iter().filter_map(|file| file.typed.placement.as_ref());
        settings::find(placement, &deployment.collect::<Vec<_>>(), &mut findings);
    }
    Ok(findings)
}

/// What changes no answer of the policy: what happens while it does not answer, and labels that Kubewarden drops.
const NO_OBSTACLES: [&str; 5] = [
    "spec.namespaceSelector",
    "spec.failurePolicy",
    "spec.timeoutSeconds",
    "spec.timeoutEvalSeconds",
    "spec.namespaceSelector.matchLabels",
];

/// Returns the mistakes with which no question about settings can be answered; and those with which it can. What a
/// policy is not asked about can, too.
///
/// # Errors
/// The policy can't be run.
pub fn obstacles(file: &SettingsFile, engine: &Policy) -> Result<(Vec<Finding>, Vec<Finding>)> {
    let mut findings = Findings { mistakes: settings::mistakes(&file.settings, engine)?, remarks: vec![] };
    if let Some(policy) = &file.policy {
        fields::find(policy, &mut findings);
        needs::find_in_fields(file, policy, &mut findings);
    }
    Ok(findings.mistakes.into_iter().partition(|mistake| !NO_OBSTACLES.contains(&mistake.path.as_str())))
}
