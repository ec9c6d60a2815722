//! Tolerations in settings and in annotations of Namespaces: a field that none has is a mistake there, and so is `null`
//! in a list. (In Pods both are passed over, as the API server does.)

use serde::{Deserialize, Deserializer};

use super::{Effect, Operator, Toleration};
use crate::json::read::{ReadError, read};
use crate::json::{FromObject, null_is_default};

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
            return Err(crate::json::Within::at(mistake, position));
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
