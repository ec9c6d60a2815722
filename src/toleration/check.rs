//! What the API server refuses in a toleration.

use super::{Effect, Operator, Toleration};
use crate::json::{ReadError, Within};
use crate::message::quote;
use crate::selector::syntax;

impl Toleration {
    /// All that the API server would refuse in this (`ValidateTolerations`, with comparison operators off, as they are
    /// by default), each in its field; nothing, if it is valid.
    pub fn check(&self) -> Vec<ReadError> {
        let mut mistakes = Vec::new();
        let mut expect = |field, expected: &str, found: &str| {
            let found = if found.is_empty() { "nothing".to_owned() } else { quote(found) };
            mistakes.push(ReadError::mismatch(expected, &found).within(field));
        };
        let (has_key, has_value) = (!self.key.is_empty(), !self.value.is_empty());
        if has_key && let Err(expected) = syntax::label_key(&self.key) {
            expect("key", expected, &self.key);
        }
        match &self.operator {
            Operator::Other(word) if has_key => expect("operator", "Equal or Exists", word),
            operator if !has_key && *operator != Operator::Exists => {
                expect("operator", "Exists where there is no key", operator.as_str());
            }
            _ => {}
        }
        if self.operator.is_equal()
            && let Err(expected) = syntax::label_value(&self.value)
        {
            expect("value", expected, &self.value);
        }
        if self.operator == Operator::Exists && has_value {
            expect("value", "nothing beside operator Exists", &self.value);
        }
        if let Effect::Other(word) = &self.effect {
            expect("effect", "NoSchedule, PreferNoSchedule or NoExecute", word);
        }
        if let Some(seconds) = self.toleration_seconds.filter(|_| self.effect != Effect::NoExecute) {
            let expected = "nothing unless the effect is NoExecute";
            mistakes.push(ReadError::mismatch(expected, &seconds.to_string()).within("tolerationSeconds"));
        }
        mistakes
    }
}
