//! Settings out of what an API server's `--admission-control-config-file` names: the configurations of the in-tree
//! admission plugins PodNodeSelector and PodTolerationRestriction.
//!
//! - [`plugins`] reads them, as the plugins do.
//! - [`settings`] writes `placement` for them, with a comment wherever it decides otherwise.
//! - [`annotations`] finds the namespaces of a cluster whose annotations are read differently from now on.

pub mod annotations;
pub mod plugins;
pub mod settings;

pub use annotations::differences;
pub use plugins::Plugins;
pub use settings::write_settings;
