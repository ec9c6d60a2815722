//! Reads files as kubectl does ([`documents`], [`yaml`]), JSON whose types are not checked ([`json`]), and settings
//! ([`settings`]).

pub mod documents;
pub mod json;
pub mod settings;
pub mod yaml;
