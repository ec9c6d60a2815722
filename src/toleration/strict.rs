//! Tolerations in settings and in annotations of Namespaces: a field that none has is a mistake there, and so is `null`
//! in a list. (In Pods both are passed over, as the API server does.)

use super::{Effect, Operator, Toleration};
use crate::json::read::read;
use crate::json::{FromObject, ReadError, Within, null_is_default};
use crate::message::quote;
use crate::selector::syntax;
use serde::{Deserialize, Deserializer};

/// A [`Toleration`] that somebody wrote by hand.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct StrictToleration {
    #[serde(deserialize_with = "null_is_default")]
    key: String,
    #[serde(deserialize_with = "null_is_default")]
    operator: Operator,
    #[serde(deserialize_with = "null_is_default")]
    value: String,
    #[serde(deserialize_with = "null_is_default")]
    effect: Effect,
    toleration_seconds: Option<i64>,
}

impl From<FromObject<StrictToleration>> for Toleration {
    fn from(FromObject(strict): FromObject<StrictToleration>) -> Self {
        let StrictToleration { key, operator, value, effect, toleration_seconds } = strict;
        Self { key, operator, value, effect, toleration_seconds }
    }
}

/// The tolerations in the `text` of a namespace's annotation; one that is empty, or `null`, has none.
///
/// # Errors
/// It is not JSON, no list of tolerations, or one that the API server would refuse.
pub fn from_annotation(text: &str) -> Result<Vec<Toleration>, ReadError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let list: Option<Vec<FromObject<StrictToleration>>> = read(text)?;
    let mut tolerations = Vec::new();
    for (position, strict) in list.into_iter().flatten().enumerate() {
        let toleration = Toleration::from(strict);
        if let Some(mistake) = toleration.check().into_iter().next() {
            return Err(mistake.at(position));
        }
        tolerations.push(toleration);
    }
    Ok(tolerations)
}

/// Reads a list of tolerations in the settings, if it is there.
///
/// # Errors
/// It is no list of tolerations, or one has an unknown field.
pub fn from_settings<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Toleration>>, D::Error> {
    let list = Option::<Vec<FromObject<StrictToleration>>>::deserialize(deserializer)?;
    Ok(list.map(|list| list.into_iter().map(Toleration::from).collect()))
}

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
