//! Tolerations as Kubernetes reads them.
//!
//! Pods and configurations are read by `sigs.k8s.io/json`, annotations by Go's `encoding/json`. Both take the last of
//! repeated fields, leave a text as it is for `null`, and pass over what they don't know. They differ in the names of
//! fields: only for annotations case does not matter.

use json::{Mismatch, Outline, ParseError, Value, Within};

use super::{Effect, Operator, Toleration};

/// The fields of a toleration.
pub const FIELDS: [&str; 5] = [KEY, OPERATOR, VALUE, EFFECT, SECONDS];

pub(super) const KEY: &str = "key";
pub(super) const OPERATOR: &str = "operator";
pub(super) const VALUE: &str = "value";
pub(super) const EFFECT: &str = "effect";
pub(super) const SECONDS: &str = "tolerationSeconds";

/// Whether the case of a field's name matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    Matters,
    Ignored,
}

/// The list `value` as that of a Pod's `spec.tolerations`, or of a plugin's configuration; `null` is empty.
///
/// # Errors
/// It is no list of objects, or a field has another type; with its place: `[2].key`.
pub fn tolerations(value: &Value) -> Result<Vec<Toleration>, Mismatch> {
    read_all(value, Case::Matters)
}

/// The tolerations in the `text` of a namespace's annotation; one that is empty has none.
///
/// # Errors
/// It is not JSON, no list of objects, or a field has another type.
pub fn from_annotation(text: &str) -> Result<Vec<Toleration>, ParseError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let value = Value::parse(text, &Outline::OBJECTS)?;
    Ok(read_all(&value, Case::Ignored)?)
}

impl Toleration {
    /// The toleration that `value` is, as an entry of a Pod's `spec.tolerations`; `null` is one without anything.
    ///
    /// # Errors
    /// It is no object, or a field has another type.
    pub fn read(value: &Value) -> Result<Self, Mismatch> {
        read(value, Case::Matters)
    }

    /// Gives `field` this value. `null` leaves a text as it is, and clears the seconds.
    fn set(&mut self, field: &str, value: &Value) -> Result<(), Mismatch> {
        if field == SECONDS {
            self.seconds = if value.is_null() { None } else { Some(value.integer()?) };
            return Ok(());
        }
        if value.is_null() {
            return Ok(());
        }
        let text = value.string()?;
        match field {
            KEY => self.key = text.into_owned(),
            OPERATOR => self.operator = Operator::from(text.as_ref()),
            VALUE => self.value = text.into_owned(),
            _ => self.effect = Effect::from(text.as_ref()),
        }
        Ok(())
    }
}

fn read_all(value: &Value, case: Case) -> Result<Vec<Toleration>, Mismatch> {
    if value.is_null() {
        return Ok(Vec::new());
    }
    let list = value.list()?;
    let mut tolerations = Vec::with_capacity(list.len());
    for (position, entry) in list.iter().enumerate() {
        tolerations.push(read(entry, case).at(position)?);
    }
    Ok(tolerations)
}

fn read(value: &Value, case: Case) -> Result<Toleration, Mismatch> {
    let mut toleration = Toleration::default();
    if value.is_null() {
        return Ok(toleration);
    }
    for (name, value) in value.object()?.members() {
        if let Some(field) = FIELDS.into_iter().find(|field| case.names(field, &name)) {
            toleration.set(field, value).within(field)?;
        }
    }
    Ok(toleration)
}

impl Case {
    /// Whether `name` is one of `field`.
    fn names(self, field: &str, name: &str) -> bool {
        match self {
            Self::Matters => field == name,
            Self::Ignored => field.chars().map(folded).eq(name.chars().map(folded)),
        }
    }
}

/// What `encoding/json` compares of a letter in a name. Two letters beyond ASCII are other cases of one in it.
const fn folded(letter: char) -> char {
    match letter {
        'ſ' => 's',
        '\u{212A}' => 'k',
        other => other.to_ascii_lowercase(),
    }
}
