//! The formats that several commands have.

use clap::ValueEnum;

/// How something is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    #[default]
    Text,
    Json,
    Yaml,
}
