//! Renderings of what the other modules found out.

pub mod changes;
pub mod explanation;
pub mod preview;
pub mod printer;
pub mod progress;
#[cfg(test)]
pub mod schema;
pub mod template;
pub mod terminal;
