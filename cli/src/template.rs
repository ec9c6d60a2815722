//! Templates: files of YAML, and the preview's page.

use anyhow::{Result, anyhow};
use minijinja::{Environment, syntax::SyntaxConfig, value::Serde};
use serde_json::Value;

use crate::{input::yaml::needs_quotes, text::escaped};

/// Fills a template in. What its name ends with says how texts are escaped: `.html`, `.yml`.
///
/// # Errors
/// The template has a mistake, and no test has found that.
pub fn render(name: &str, template: &str, data: Value) -> Result<String> {
    let mut environment = Environment::new();
    environment
        .set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()?);
    environment.set_auto_escape_callback(|name| match name.ends_with(".html") {
        true => minijinja::AutoEscape::Html,
        false => minijinja::AutoEscape::None,
    });
    environment.add_filter("yaml", yaml_scalar);
    environment.add_filter("comment", comment);
    environment.render_named_str(name, template, Serde(data)).map_err(|error| anyhow!("{name}: {error:#}"))
}

/// Returns a text that stays on its line of a comment, whatever it has.
pub fn comment(text: &str) -> String {
    escaped(text).replace('\n', "\\n").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// Returns a text as YAML reads it back, on one line, in lists between brackets too. Only what nobody could read as
/// something else stands without quotes.
fn yaml_scalar(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:@".contains(character);
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.chars().all(is_plain);
    let is_plain = is_word && !text.ends_with(':') && !needs_quotes(text);
    // JSON's texts are YAML's, too.
    if is_plain { text.to_owned() } else { Value::from(text).to_string() }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::a_name("blue", "blue")]
    #[case::a_key("kubernetes.io/metadata.name", "kubernetes.io/metadata.name")]
    #[case::a_module("registry://example.com/m:v1@sha256:a", "registry://example.com/m:v1@sha256:a")]
    #[case::true_or_false("true", "\"true\"")]
    #[case::yes_of_yaml_1_1("on", "\"on\"")]
    #[case::a_number("1.0", "\"1.0\"")]
    #[case::an_exponent("1e3", "\"1e3\"")]
    #[case::null("null", "\"null\"")]
    #[case::nothing("", "\"\"")]
    #[case::a_line_break("a\nb: c", "\"a\\nb: c\"")]
    #[case::an_end_of_a_list("a, b]", "\"a, b]\"")]
    #[case::a_colon_at_the_end("a:", "\"a:\"")]
    fn texts_are_quoted_where_yaml_reads_something_else(#[case] text: &str, #[case] written: &str) -> Result<()> {
        assert_eq!(yaml_scalar(text), written);
        let read = crate::input::documents::yaml_documents(&format!("[{written}]"))?;
        assert_eq!(read, [serde_json::json!([text])]);
        Ok(())
    }
}
