//! The text of settings, with its comments, taken out of a file.

use std::mem::take;

use serde_json::Value;

use crate::input::{documents::yaml_documents, yaml};

/// Returns the texts of the documents of a file, of which there are so many. The text of a `List` can't be divided: its
/// comments are lost.
pub fn documents(text: &str, count: usize) -> Vec<String> {
    let lines: Vec<&str> = text.trim_start_matches('\u{feff}').lines().collect();
    // What stands before a document that says nothing itself belongs to it.
    let (mut texts, mut comments) = (vec![], String::new());
    for document in lines.split(|line| line.trim_end() == "---") {
        comments.extend(document.iter().flat_map(|line| [line, "\n"]));
        if document.iter().any(|line| !is_comment(line)) {
            texts.push(take(&mut comments));
        }
    }
    if texts.len() == count { texts } else { vec![String::new(); count] }
}

/// Returns the comments before the first field.
pub fn header(text: &str) -> String {
    let comments = text.lines().take_while(|line| line.starts_with('#') || line.is_empty());
    comments.map(|line| format!("{line}\n")).collect()
}

/// Returns what stands below `settings:` of a policy.
pub fn settings_in(policy: &str) -> String {
    let lines = policy.lines().skip_while(|line| line.trim_end() != "  settings:").skip(1);
    let lines = lines.take_while(|line| line.trim().is_empty() || indentation(line) > 2);
    textwrap::dedent(&lines.map(|line| format!("{line}\n")).collect::<String>())
}

/// Returns settings as YAML: the given text if it says the same; else a new one, without comments.
pub fn yaml_of(settings: &Value, text: &str) -> String {
    let is_block_style = !text.trim_start().starts_with(['{', '[']);
    match yaml_documents(text) {
        Ok(documents) if is_block_style && documents == [settings.clone()] => text.to_owned(),
        _ => yaml::write(settings).unwrap_or_default(),
    }
}

fn is_comment(line: &str) -> bool {
    line.trim().is_empty() || line.starts_with('#')
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
