//! What is wrong with settings, and with the ClusterAdmissionPolicies around them.
//!
//! - [`settings`]: remarks on settings that are valid
//! - [`policy`]: what a policy lacks or breaks
//! - here: all of it for a file, each line with its position

pub mod finding;
pub mod policy;
mod reference;
pub mod settings;

use anyhow::Result;
use node_placement_policy::settings::Placement;
use serde::Serialize;

use self::finding::{Finding, Findings};
use crate::{
    Policy, SettingsFile,
    engine::native,
    input::yaml::{self, Document, Position},
};

/// What there is to say, for programs.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "Check"))]
pub struct Lines {
    /// What can't be meant, each as `FILE:LINE:COLUMN: PATH: TEXT`.
    pub mistakes: Vec<String>,
    /// What may be meant, likewise.
    pub remarks: Vec<String>,
}

impl Lines {
    /// Those for a file of this name.
    pub fn new(findings: &Findings, file: &str) -> Self {
        let written = |list: &[Finding]| list.iter().map(|finding| format!("{file}:{finding}")).collect();
        Self { mistakes: written(&findings.mistakes), remarks: written(&findings.remarks) }
    }
}

/// Looks at all documents of a file, up to the first that can't be read. `engine` is the policy that decides whether settings
/// are valid.
///
/// # Errors
/// The file is empty, or the policy can't be run.
pub fn check(text: &str, engine: &Policy) -> Result<Findings> {
    let read = yaml::read(text);
    if let ([], None) = (read.documents.as_slice(), &read.error) {
        SettingsFile::read_all(vec![])?;
    }
    let mut findings = Findings::default();
    let (mut documents, mut files) = (vec![], vec![]);
    for document in &read.documents {
        match SettingsFile::read(document.value.clone()) {
            Ok(file) => {
                documents.push(document);
                files.push(file);
            }
            Err(error) => {
                let mut own = vec![Finding::read(&format!("{error:#}"))];
                // A value of a wrong type: of the rest of the policy, only what nobody knows can be told.
                if own.iter().any(|finding| finding.path.starts_with("spec.")) {
                    own.extend(policy::fields::find_beside_spec(&document.value));
                    own.extend(policy::fields::find_unknown(&document.value["spec"]));
                }
                let located = own.into_iter().map(|it| Finding { position: position(&it, document), ..it });
                findings.mistakes.extend(located);
            }
        }
    }
    for (place, (document, file)) in documents.iter().zip(&files).enumerate() {
        let mut own = self::findings(file, &files, engine)?;
        own.mistakes.extend(misplaced(file, files.get(..place).unwrap_or_default(), read.documents.len()));
        if file.policy.is_some() {
            own.mistakes.extend(policy::fields::find_beside_spec(&document.value));
        }
        let booleans = booleans_for_kubectl(document, &own.mistakes);
        // Settings become a policy by a command that quotes them.
        if file.policy.is_some() { &mut own.mistakes } else { &mut own.remarks }.extend(booleans);
        let policy = file.name.as_ref().filter(|_| files.len() > 1);
        for finding in own.mistakes.iter_mut().chain(&mut own.remarks) {
            finding.position = position(finding, document);
            finding.policy = policy.cloned();
        }
        findings.extend(own);
    }
    if let Some(error) = read.error {
        let text = format!("{}; what follows was not checked", error.problem);
        findings.mistakes.push(Finding { position: Some(error.position), ..Finding::new("", text) });
    }
    Ok(findings)
}

/// Where the field of a finding stands in a document, which is settings, or a policy that has them.
fn position(finding: &Finding, document: &Document) -> Option<Position> {
    // Where an unknown field stands, and not what has it.
    let unknown = finding.text.strip_prefix("unknown field \"").and_then(|rest| rest.split_once('"'));
    let path = unknown.map_or_else(|| finding.path.clone(), |(field, _)| format!("{}.{field}", finding.path));
    let path = path.trim_start_matches('.');
    // The policy tells of its settings, and knows nothing around them.
    let first = path.split(['.', '[']).next().unwrap_or_default();
    let is_around = first == "apiVersion" || document.value.get(first).is_some();
    let prefix = if document.value["spec"].is_object() && !is_around { "spec.settings." } else { "" };
    document.position(&format!("{prefix}{path}"))
}

/// What is wrong with a document because of the others in its file.
fn misplaced(file: &SettingsFile, before: &[SettingsFile], count: usize) -> Option<Finding> {
    if file.policy.is_none() {
        let text = format!("settings must stand alone in their file; found {count} documents");
        return (count > 1).then(|| Finding::new("", text));
    }
    let name = file.name.as_ref().filter(|name| before.iter().any(|earlier| earlier.name.as_ref() == Some(name)))?;
    Some(Finding::new(policy::fields::NAME, format!("{name:?} stands there already; this one would overwrite it")))
}

/// What is wrong with settings, and with the policy around them, which is one of the `files` of its deployment.
///
/// # Errors
/// The policy can't be run.
pub fn findings(file: &SettingsFile, files: &[SettingsFile], engine: &Policy) -> Result<Findings> {
    let mut findings = Findings { mistakes: invalid(file, engine)?, remarks: vec![] };
    let is_valid = findings.mistakes.is_empty();
    if let Some(policy) = &file.policy {
        findings.extend(policy::broken(file, policy));
        findings.extend(policy::not_asked(file, policy, files));
    }
    // Of settings in another policy of the same deployment all is said there.
    let is_for_reports = file.policy.as_ref().is_some_and(|policy| policy.only_reports());
    let placement = file.typed.placement.as_ref();
    if let Some(placement) = placement.filter(|_| is_valid && !file.is_about_nodes() && !is_for_reports) {
        let placements: Vec<&Placement> = files.iter().filter_map(|file| file.typed.placement.as_ref()).collect();
        findings.remarks.extend(settings::remarks(placement, &placements));
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

/// The mistakes with which no question about settings can be answered; and those with which it can. What a policy is not
/// asked about can, too.
///
/// # Errors
/// The policy can't be run.
pub fn obstacles(file: &SettingsFile, engine: &Policy) -> Result<(Vec<Finding>, Vec<Finding>)> {
    let mut mistakes = invalid(file, engine)?;
    mistakes.extend(file.policy.iter().flat_map(|policy| policy::broken(file, policy).mistakes));
    Ok(mistakes.into_iter().partition(|mistake| !NO_OBSTACLES.contains(&mistake.path.as_str())))
}

/// What kubectl changes in a file before anybody else reads it. Where there is another mistake, that is told.
fn booleans_for_kubectl(document: &Document, mistakes: &[Finding]) -> Vec<Finding> {
    let is_told = |path: &str| {
        let in_settings = path.strip_prefix("spec.settings.").unwrap_or(path);
        mistakes.iter().any(|mistake| [path, in_settings].contains(&mistake.path.as_str()))
    };
    let words = document.booleans_for_kubectl().filter(|(path, _)| !is_told(path));
    let finding = |(path, text): (&str, &str)| {
        let meant = ["y", "yes", "on"].contains(&text.to_ascii_lowercase().as_str());
        let told = format!("for kubectl, which reads YAML 1.1, {text} without quotes is {meant}; write \"{text}\"");
        Finding::new(path, told)
    };
    words.map(finding).collect()
}

/// The mistakes that the policy finds in its settings. It tells all of them in one sentence; the crate that it is made
/// of has them one by one.
fn invalid(file: &SettingsFile, engine: &Policy) -> Result<Vec<Finding>> {
    let answer = engine.validate_settings(&file.settings)?;
    if answer.valid {
        return Ok(vec![]);
    }
    let message = answer.message.unwrap_or_default();
    let mistakes = native::mistakes(&file.settings);
    let lines = if mistakes.join("; ") == message { mistakes } else { vec![message] };
    let with_proposal = |line: String| {
        let mut finding = Finding::read(&line);
        if let Some(meant) = reference::meant(&file.settings, &finding.path) {
            finding.text += &format!("; {meant}");
        }
        finding
    };
    Ok(lines.into_iter().map(with_proposal).collect())
}

#[cfg(test)]
mod tests {
    use crate::output::schema::ensure_schema;

    #[test]
    fn the_schema_is_that_of_the_types() -> anyhow::Result<()> {
        ensure_schema::<super::Lines>("docs/check.schema.json")
    }
}
