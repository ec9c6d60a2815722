//! Renderings of what the other modules found out.

pub mod changes;
pub mod format;
pub mod paper;
pub mod template;
pub mod terminal;
pub mod wrap;
