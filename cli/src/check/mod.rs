//! What is wrong with settings, and with the ClusterAdmissionPolicies around them.
//!
//! - [`settings`]: remarks on settings that are valid
//! - [`policy`]: what a policy lacks or breaks
//! - here: all of it for a file, each line with its position

pub mod finding;
pub mod policy;
mod reference;
pub mod settings;

use std::fmt;

use anyhow::Result;
use node_placement_policy::settings::Placement;
use serde::Serialize;

use self::{
    finding::{Finding, Findings},
    settings::Guards,
};
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

/// What there is to say about a file.
#[derive(Debug, Default)]
pub struct Report {
    /// What can't be meant.
    pub mistakes: Vec<Line>,
    /// What may be meant.
    pub remarks: Vec<Line>,
    /// Whether there is a whole policy in the file.
    pub has_policy: bool,
}

/// A finding, and where it stands.
#[derive(Debug)]
pub struct Line {
    /// Where.
    pub position: Option<Position>,
    /// The policy, where there are several.
    pub policy: Option<String>,
    /// What.
    pub finding: Finding,
}

impl Report {
    /// All of it, for a file of this name.
    pub fn lines(&self, file: &str) -> Lines {
        let written = |lines: &[Line]| lines.iter().map(|line| format!("{file}:{line}")).collect();
        Lines { mistakes: written(&self.mistakes), remarks: written(&self.remarks) }
    }
}

/// Looks at all documents of a file, up to the first that can't be read. `engine` is the policy that decides whether settings
/// are valid.
///
/// # Errors
/// The policy can't be run.
pub fn check(text: &str, engine: &Policy) -> Result<Report> {
    let read = yaml::read(text);
    let mut report = Report::default();
    let mut checked = vec![];
    for document in &read.documents {
        match SettingsFile::read(document.value.clone()) {
            Ok(file) => checked.push((document, file)),
            Err(error) => report.mistakes.push(Line::new(document, None, Finding::read(&format!("{error:#}")))),
        }
    }
    let files: Vec<&SettingsFile> = checked.iter().map(|(_, file)| file).collect();
    if let (0, [], None) = (report.mistakes.len(), files.as_slice(), &read.error) {
        SettingsFile::read_all(vec![])?;
    }
    for (place, (document, file)) in checked.iter().enumerate() {
        let mistake = match &file.name {
            _ if file.policy.is_none() && read.documents.len() > 1 => {
                let count = read.documents.len();
                Finding::new("", format!("settings must stand alone in their file; found {count} documents"))
            }
            Some(name) if files.iter().take(place).any(|earlier| earlier.name.as_ref() == Some(name)) => Finding::new(
                policy::fields::NAME,
                format!("{name:?} stands there already; this one would overwrite it"),
            ),
            _ => continue,
        };
        report.mistakes.push(Line::new(document, None, mistake));
    }
    report.has_policy = files.iter().any(|file| file.policy.is_some());
    for (document, file) in &checked {
        let Findings { mut mistakes, remarks } = findings(file, &files, engine)?;
        if file.policy.is_some() {
            mistakes.extend(policy::fields::find_beside_spec(&document.value));
        }
        let is_told = |path: &str| {
            let in_settings = path.strip_prefix("spec.settings.").unwrap_or(path);
            mistakes.iter().any(|mistake| [path, in_settings].contains(&mistake.path.as_str()))
        };
        let booleans: Vec<Finding> = booleans_for_kubectl(document).filter(|own| !is_told(&own.path)).collect();
        let mut remarks = remarks;
        // Settings become a policy by a command that quotes them.
        if file.policy.is_some() { &mut mistakes } else { &mut remarks }.extend(booleans);
        let name = file.name.as_deref().filter(|_| files.len() > 1);
        report.mistakes.extend(mistakes.into_iter().map(|finding| Line::new(document, name, finding)));
        report.remarks.extend(remarks.into_iter().map(|finding| Line::new(document, name, finding)));
    }
    if let Some(error) = read.error {
        let text = format!("{}; what follows was not checked", error.problem);
        report.mistakes.push(Line { position: Some(error.position), policy: None, finding: Finding::new("", text) });
    }
    Ok(report)
}

/// What is wrong with settings, and with the policy around them, which is one of the `files` of its deployment.
///
/// # Errors
/// The policy can't be run.
pub fn findings(file: &SettingsFile, files: &[&SettingsFile], engine: &Policy) -> Result<Findings> {
    let mut findings = Findings { mistakes: invalid(file, engine)?, remarks: vec![] };
    let is_valid = findings.mistakes.is_empty();
    if let Some(policy) = &file.policy {
        findings.extend(policy::broken(file, policy));
        findings.extend(policy::not_asked(file, policy, files));
        // A rule that nothing needs may be what a misspelt setting needs.
        if is_valid {
            findings.extend(policy::superfluous(file, policy));
        }
    }
    // Of settings in another policy of the same deployment all is said there.
    let is_for_reports = file.policy.as_ref().is_some_and(|policy| policy.only_reports());
    if let Some(placement) =
        file.typed.placement.as_ref().filter(|_| is_valid && !file.is_about_nodes() && !is_for_reports)
    {
        findings.remarks.extend(settings::remarks(placement, guards(files)));
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

/// What kubectl changes in a file before anybody else reads it.
fn booleans_for_kubectl(document: &Document) -> impl Iterator<Item = Finding> {
    document.booleans_for_kubectl().map(|(path, text)| {
        let meant = ["y", "yes", "on"].contains(&text.to_ascii_lowercase().as_str());
        let told = format!("for kubectl, which reads YAML 1.1, {text} without quotes is {meant}; write \"{text}\"");
        Finding::new(path, told)
    })
}

fn guards(files: &[&SettingsFile]) -> Guards {
    let placements = files.iter().filter_map(|file| file.typed.placement.as_ref());
    Guards::of(placements.collect::<Vec<&Placement>>())
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

impl Line {
    fn new(document: &Document, policy: Option<&str>, finding: Finding) -> Self {
        let is_policy = document.value["spec"].is_object();
        // Where an unknown field stands, and not what has it.
        let unknown = finding.text.strip_prefix("unknown field \"").and_then(|rest| rest.split_once('"'));
        let path = unknown.map_or_else(|| finding.path.clone(), |(field, _)| format!("{}.{field}", finding.path));
        let path = path.trim_start_matches('.');
        // The policy tells of its settings, and knows nothing around them.
        let is_around = ["spec", "apiVersion", policy::fields::NAME].contains(&path) || path.starts_with("spec.");
        let position = if is_policy && !is_around {
            document.position(&format!("spec.settings.{path}"))
        } else {
            document.position(path)
        };
        Self { position, policy: policy.map(str::to_owned), finding }
    }
}

/// `12:5: placement.onBindings: …`
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        if let Some(policy) = &self.policy {
            write!(f, "{policy}: ")?;
        }
        write!(f, "{}", self.finding)
    }
}

#[cfg(test)]
mod tests {
    use crate::output::schema::ensure_schema;

    #[test]
    fn the_schema_is_that_of_the_types() -> anyhow::Result<()> {
        ensure_schema::<super::Lines>("docs/check.schema.json")
    }
}
