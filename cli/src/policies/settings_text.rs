//! The text of settings, with its comments: taken out of a file, and cut in two.

use std::mem::take;

use serde_json::Value;

use crate::input::{documents::yaml_documents, yaml};

/// The texts of the documents of a file, of which there are so many. The text of a `List` can't be divided: its comments
/// are lost.
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

/// The comments before the first field.
pub fn header(text: &str) -> String {
    let comments = text.lines().take_while(|line| line.starts_with('#') || line.is_empty());
    comments.map(|line| format!("{line}\n")).collect()
}

/// What stands below `settings:` of a policy.
pub fn settings_in(policy: &str) -> String {
    let lines = policy.lines().skip_while(|line| line.trim_end() != "  settings:").skip(1);
    let lines = lines.take_while(|line| line.trim().is_empty() || indentation(line) > 2);
    textwrap::dedent(&lines.map(|line| format!("{line}\n")).collect::<String>())
}

/// A text in two: a field that is so far indented, with the comments before it; and the rest.
pub fn cut(text: &str, depth: usize, field: &str) -> (String, String) {
    let (mut cut, mut rest, mut comments) = (String::new(), String::new(), String::new());
    let mut is_within = false;
    for line in text.lines() {
        let is_comment = is_comment(line.trim_start());
        if is_comment && (indentation(line) <= depth || !is_within) {
            comments.extend([line, "\n"]);
            continue;
        }
        if !is_comment && indentation(line) <= depth {
            let own = line.trim_start().strip_prefix(field);
            is_within = indentation(line) == depth && own.is_some_and(|rest| rest.starts_with(':'));
        }
        let part = if is_within { &mut cut } else { &mut rest };
        part.extend([take(&mut comments).as_str(), line, "\n"]);
    }
    (cut, rest + &comments)
}

/// Settings as YAML: the text that somebody wrote, if it says the same; else a new one, without comments.
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
