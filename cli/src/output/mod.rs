//! Renderings of what the other modules found out.

pub mod changes;
pub mod paper;
pub mod template;
pub mod wrap;
