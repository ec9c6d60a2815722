//! What people read on a terminal.

use std::{
    env,
    io::{ErrorKind, IsTerminal, Write, stdout},
};

use anyhow::{Context, Result};
use clap::{ColorChoice, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Evaluation, Identity, Manifests,
    input::yaml,
    output::{
        changes::changes,
        terminal::{escaped, width, wrap},
    },
    stored::environment,
};

/// Where the text beside a verdict begins.
const INDENT: usize = 12;

const PLAIN: &str = "";
const BOLD: &str = "1";
const DIM: &str = "2";
const RED: &str = "1;31";
const GREEN: &str = "32";

/// How something is printed. Each command has some of these formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
    Yaml,
    Html,
    Commands,
    Junit,
    Settings,
    Policy,
}

/// What people read: plain text, with colours where there is a terminal that wants them.
pub struct Printer {
    colors: bool,
    /// No line is longer, unless a single word is.
    width: usize,
    text: String,
}

impl Printer {
    /// With colours as `color` says.
    pub fn new(color: ColorChoice) -> Self {
        let unwanted = || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colors = match color {
            ColorChoice::Auto => stdout().is_terminal() && !unwanted(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        Self { colors, width: width(), text: String::new() }
    }

    /// For programs: JSON or YAML.
    pub fn data(&mut self, format: Format, data: &impl Serialize) -> Result<()> {
        // In the order of names, in both formats.
        let data = &serde_json::to_value(data)?;
        let text = match format {
            Format::Json => serde_json::to_string_pretty(data)?,
            _ => yaml::write(data)?,
        };
        self.write(text.trim_end());
        Ok(())
    }

    /// Prints it all. Readers that leave early, such as `head`, are free to.
    pub fn print(&self) -> Result<()> {
        match stdout().write_all(self.text.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            printed => printed.context("cannot print"),
        }
    }

    /// An empty line.
    pub fn gap(&mut self) {
        self.write("");
    }

    /// A heading, in bold.
    pub fn heading(&mut self, text: &str) {
        wrap(text, self.width).iter().for_each(|line| self.draw(0, &[(BOLD, line)]));
    }

    /// A line below a heading, or more where it is long.
    pub fn item(&mut self, text: &str) {
        let indent = 2 + text.len() - text.trim_start().len();
        let lines = wrap(text.trim_start(), self.width - indent - 2);
        for (place, line) in lines.iter().enumerate() {
            let indent = if place == 0 { indent } else { indent + 2 };
            self.write(&format!("{:indent$}{line}", ""));
        }
    }

    /// A scenario of the tour, with its settings.
    pub fn scenario(&mut self, title: &str, prose: &str, settings: &str) {
        self.heading(title);
        wrap(prose, self.width).iter().for_each(|line| self.write(line));
        self.gap();
        settings.lines().for_each(|line| self.draw(4, &[(DIM, line)]));
        self.gap();
    }

    /// The verdict and what was asked in one line, all that is to be said about it below.
    pub fn evaluation(&mut self, asked: &str, request: &Value, evaluation: &Evaluation, cluster: &Manifests) {
        let answer = &evaluation.answer;
        let verdict = if answer.accepted { (GREEN, "  accepted  ") } else { (RED, "  REJECTED  ") };
        self.draw(0, &[verdict, (BOLD, asked)]);
        if !answer.accepted || answer.message.is_some() {
            self.below(&answer.reason());
        }
        if let Some(mutated) = &answer.mutated_object {
            changes(&request["object"], mutated).iter().for_each(|change| self.change(change));
        }
        for warning in answer.warnings.iter().flatten() {
            self.below(&format!("warning: {warning}"));
        }
        let lookups: Vec<_> = evaluation.looked_up().map(|object| with_annotations(&object, cluster)).collect();
        if !lookups.is_empty() {
            self.aside(&format!("looked up: {}", lookups.join(", ")));
        }
    }

    /// An object, or a request, that the policy says nothing to, and why.
    pub fn unanswered(&mut self, verdict: &str, asked: &str, reason: &str) {
        self.draw(0, &[(PLAIN, &format!("  {verdict:<10}")), (BOLD, asked)]);
        self.below(reason);
    }

    /// The object as the API server will store it.
    pub fn stored(&mut self, object: &Value) {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            // Long, and of no interest to anybody.
            metadata.remove("managedFields");
        }
        self.line("as it will be stored:");
        let text = yaml::write(&object).unwrap_or_default();
        text.lines().for_each(|line| self.line(&format!("  {line}")));
    }

    /// The Pod as it is stored after its binding, and what its containers see of it.
    pub fn bound_pod(&mut self, pod: &Value) {
        self.line(&format!("the Pod, as it is stored on {}:", pod["spec"]["nodeName"].as_str().unwrap_or_default()));
        for (kind, plural) in [("label", "labels"), ("annotation", "annotations")] {
            for (key, value) in pod["metadata"][plural].as_object().into_iter().flatten() {
                self.line(&format!("  {kind} {key}: {}", value.as_str().unwrap_or_default()));
            }
        }
        for (name, value) in environment(pod) {
            let seen = format!("{name}={}", value.as_str().unwrap_or_default());
            self.draw(INDENT, &[(PLAIN, "  container sees "), (BOLD, &seen)]);
        }
    }

    /// What goes to other readers: into the audit log, and into the log of the host.
    pub fn records(&mut self, evaluation: &Evaluation) {
        for (key, value) in evaluation.answer.audit_annotations.iter().flatten() {
            self.aside(&format!("audit: {key}: {value}"));
        }
        for log in &evaluation.record.logs {
            // A rejection is told already.
            if log["message"].as_str().is_some_and(|message| Some(message) == evaluation.answer.message.as_deref()) {
                continue;
            }
            match (log["level"].as_str(), log["message"].as_str()) {
                (Some(level), Some(message)) => self.aside(&format!("logged: {level}: {message}")),
                _ => self.aside(&format!("logged: {log}")),
            }
        }
    }

    /// One operation of a JSON patch, its value spread over lines where it is long.
    fn change(&mut self, change: &Value) {
        let text = |field| change[field].as_str().unwrap_or_default();
        let place = [text("op"), text("path")].join(" ");
        let Some(value) = change.get("value") else {
            return self.below(&place);
        };
        let line = format!("{place} {value}");
        if INDENT + line.chars().count() <= self.width {
            return self.line(&line);
        }
        self.line(&place);
        let value = yaml::write(value).unwrap_or_default();
        value.lines().for_each(|line| self.line(&format!("  {line}")));
    }

    /// Prose below a verdict.
    pub fn below(&mut self, text: &str) {
        wrap(text, self.width - INDENT).iter().for_each(|line| self.line(line));
    }

    fn aside(&mut self, text: &str) {
        wrap(text, self.width - INDENT).iter().for_each(|line| self.draw(INDENT, &[(DIM, line)]));
    }

    fn line(&mut self, text: &str) {
        self.draw(INDENT, &[(PLAIN, text)]);
    }

    /// A line, or several.
    pub fn write(&mut self, line: &str) {
        self.draw(0, &[(PLAIN, line)]);
    }

    /// A line of texts, each in an ink. Control characters are written out; colours are the tool's own.
    fn draw(&mut self, indent: usize, texts: &[(&str, &str)]) {
        self.text += &" ".repeat(indent);
        for (ink, text) in texts {
            let text = escaped(text);
            match self.colors && *ink != PLAIN {
                true => self.text += &format!("\x1b[{ink}m{text}\x1b[0m"),
                false => self.text += &text,
            }
        }
        self.text.push('\n');
    }
}

/// `Namespace team-a`, with its annotations: they may say what holds there.
fn with_annotations(identity: &Identity, cluster: &Manifests) -> String {
    let object = cluster.find(identity).filter(|_| identity.kind == "Namespace");
    let annotations = object.and_then(|object| object["metadata"]["annotations"].as_object());
    let written = annotations.into_iter().flatten().filter(|(key, _)| !key.starts_with("kubectl.kubernetes.io/"));
    let written: Vec<_> =
        written.map(|(key, value)| format!("{key}: {}", value.as_str().unwrap_or_default())).collect();
    if written.is_empty() { identity.to_string() } else { format!("{identity}, annotated {}", written.join(", ")) }
}
