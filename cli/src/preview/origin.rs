//! Where a preview comes from: a page may be read long after, by somebody else.

use jiff::Timestamp;
use serde::Serialize;

/// What the head of a page names.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Origin {
    /// The file, or the context of the kubeconfig.
    pub cluster: String,
    /// The file with the settings.
    pub settings: String,
    /// That with the settings that hold now, if they are compared.
    pub old: Option<String>,
    /// `2026-03-01 14:05 UTC`
    pub date: String,
}

impl Origin {
    /// Of a preview that is made now.
    pub fn now(cluster: String, settings: String, old: Option<String>) -> Self {
        Self { cluster, settings, old, date: Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string() }
    }
}
