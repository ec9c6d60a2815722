//! Templates: the policy's file, and the preview's page.

use anyhow::{Result, anyhow};
use minijinja::{Environment, syntax::SyntaxConfig, value::Serde};
use serde_json::Value;

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
    environment.render_named_str(name, template, Serde(data)).map_err(|error| anyhow!("{name}: {error:#}"))
}
