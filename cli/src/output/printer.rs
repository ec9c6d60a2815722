//! What commands print: text for people, with colors, and data for programs.

use std::{
    env,
    io::{ErrorKind, IsTerminal, Write, stdout},
};

use anyhow::{Context, Result};
use clap::{ColorChoice, ValueEnum};
use serde::Serialize;

use super::terminal::width;
use crate::{
    input::yaml,
    text::{escaped, escaped_in_file, wrap},
};

/// Where the text below a verdict begins.
pub(super) const INDENT: usize = 12;

pub(super) const PLAIN: &str = "";
pub(super) const BOLD: &str = "1";
pub(super) const DIM: &str = "2";
pub(super) const RED: &str = "1;31";
pub(super) const GREEN: &str = "32";

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
    pub(super) width: usize,
    text: String,
}

impl Printer {
    /// Makes a printer with colours as `color` says.
    pub fn new(color: ColorChoice) -> Self {
        let unwanted = || env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colors = match color {
            ColorChoice::Auto => stdout().is_terminal() && !unwanted(),
            ColorChoice::Always => true,
            ColorChoice::Never => false,
        };
        Self { colors, width: width(), text: String::new() }
    }

    /// Prints data for programs: JSON or YAML.
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

    /// Prints an empty line.
    pub fn gap(&mut self) {
        self.write("");
    }

    /// Prints a heading, in bold.
    pub fn heading(&mut self, text: &str) {
        wrap(text, self.width).iter().for_each(|line| self.draw(0, &[(BOLD, line)]));
    }

    /// Prints a line below a heading, or more where it is long.
    pub fn item(&mut self, text: &str) {
        let indent = 2 + text.len() - text.trim_start().len();
        let lines = wrap(text.trim_start(), self.width - indent - 2);
        for (place, line) in lines.iter().enumerate() {
            let indent = if place == 0 { indent } else { indent + 2 };
            self.write(&format!("{:indent$}{line}", ""));
        }
    }

    /// Prints a scenario of the tour, with its settings.
    pub fn scenario(&mut self, title: &str, prose: &str, settings: &str) {
        self.heading(title);
        wrap(prose, self.width).iter().for_each(|line| self.write(line));
        self.gap();
        settings.lines().for_each(|line| self.draw(4, &[(DIM, line)]));
        self.gap();
    }

    /// Prints prose below a verdict.
    pub fn below(&mut self, text: &str) {
        wrap(text, self.width - INDENT).iter().for_each(|line| self.line(line));
    }

    pub(super) fn remark(&mut self, text: &str) {
        wrap(text, self.width - INDENT).iter().for_each(|line| self.draw(INDENT, &[(DIM, line)]));
    }

    pub(super) fn line(&mut self, text: &str) {
        self.draw(INDENT, &[(PLAIN, text)]);
    }

    /// Prints a line, or several.
    pub fn write(&mut self, line: &str) {
        self.draw(0, &[(PLAIN, line)]);
    }

    /// Prints what is meant to become a file.
    pub fn file(&mut self, text: &str) {
        self.text += &escaped_in_file(text.trim_end());
        self.text.push('\n');
    }

    /// Prints a line of texts, each in an ink. Control characters are written out; colours are the tool's own.
    pub(super) fn draw(&mut self, indent: usize, texts: &[(&str, &str)]) {
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
