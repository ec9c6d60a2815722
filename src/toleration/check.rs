//! Checks tolerations in settings and in annotations of Namespaces. There, an unknown field and `null` in a list are
//! mistakes. (In Pods, both are ignored, as by the API server.)

use super::{EXISTS, NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Toleration};
use crate::json::read::read;
use crate::json::{FromObject, ReadError, Within};
use crate::message::quote;
use crate::selector::syntax;

/// Reads the tolerations in the `text` of a namespace's annotation. If it is empty or `null`, there are none.
///
/// # Errors
/// It is no JSON list of tolerations, or the API server would refuse one of them.
pub fn from_annotation(text: &str) -> Result<Vec<Toleration>, ReadError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list: Option<Vec<FromObject<Toleration>>> = read(text)?;
    let mut tolerations = Vec::new();
    for (position, FromObject(toleration)) in list.into_iter().flatten().enumerate() {
        if let Some(mistake) = toleration.check().into_iter().next() {
            return Err(mistake.at(position));
        }
        tolerations.push(toleration);
    }
    Ok(tolerations)
}

impl Toleration {
    /// Finds everything that the API server would refuse, each with its field (`ValidateTolerations`). Refuses `Lt` and
    /// `Gt`, which are off by default.
    pub fn check(&self) -> Vec<ReadError> {
        let mut mistakes = Vec::new();
        let mut mismatch = |field, expected: &str, found: &str| {
            let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
            mistakes.push(ReadError::mismatch(expected, &found).within(field));
        };
        let (has_key, has_value) = (!self.key.is_empty(), !self.value.is_empty());
        if has_key && let Err(expected) = syntax::label_key(&self.key) {
            mismatch("key", expected, &self.key);
        }
        match self.operator.as_str() {
            EXISTS => {}
            operator if !has_key => mismatch("operator", "Exists where there is no key", operator),
            operator if !self.compares_values() => mismatch("operator", "Equal or Exists", operator),
            _ => {}
        }
        if self.compares_values()
            && let Err(expected) = syntax::label_value(&self.value)
        {
            mismatch("value", expected, &self.value);
        }
        if self.operator == EXISTS && has_value {
            mismatch("value", "nothing beside operator Exists", &self.value);
        }
        if !matches!(self.effect.as_str(), "" | NO_SCHEDULE | PREFER_NO_SCHEDULE | NO_EXECUTE) {
            mismatch("effect", "NoSchedule, PreferNoSchedule or NoExecute", &self.effect);
        }
        if let Some(seconds) = self.toleration_seconds.filter(|_| self.effect != NO_EXECUTE) {
            let expected = "nothing unless the effect is NoExecute";
            mistakes.push(ReadError::mismatch(expected, &seconds.to_string()).within("tolerationSeconds"));
        }
        mistakes
    }
}
