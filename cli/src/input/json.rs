//! Reads JSON values whose types are not checked: a value of another type counts as absent, or is a mistake.

use std::{error, fmt};

use anyhow::Result;
use node_placement_policy::json::error::{ReadError, found_and_known, unknown_field};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Map, Value, value::to_raw_value};

/// Returns a text; of anything else, the empty text.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns the elements of a list; none of anything else.
pub fn list_of(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the members of an object; none of anything else.
pub fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().map(Map::iter).into_iter().flatten()
}

/// Returns how people call an object: `Deployment team-a/web`, `Node worker-1`.
pub fn title(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = qualified_name(text(&metadata["namespace"]), text(&metadata["name"]));
    format!("{} {name}", text(&object["kind"])).trim_end().to_owned()
}

/// Returns `team-a/web`; without a namespace, `web`.
pub fn qualified_name(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}").trim_matches('/').to_owned()
}

/// Removes members; an object that is empty then stays.
pub fn remove(object: &mut Value, names: &[&str]) {
    if let Some(object) = object.as_object_mut() {
        names.iter().for_each(|name| drop(object.remove(*name)));
    }
}

/// Sets the member at the end of `path`. Creates objects on the way. Does nothing if a value of another type is in the way.
pub fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if object.is_null() {
        *object = Value::Object(Map::new());
    }
    if let Value::Object(members) = object {
        set(members.entry(*first).or_insert(Value::Null), rest, value);
    }
}

/// Removes what is null, at any depth: for an API server it is absent.
pub fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(remove_nulls);
        }
        Value::Array(elements) => elements.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Key(String),
    Index(usize),
}

/// Returns the steps of a path such as `rules[0].resources`, or `config["team-a"]`.
fn steps(path: &str) -> Vec<Step> {
    let (mut steps, mut rest) = (vec![], path);
    while !rest.is_empty() {
        rest = rest.strip_prefix('.').unwrap_or(rest);
        if let Some(bracketed) = rest.strip_prefix('[') {
            let mut values = serde_json::Deserializer::from_str(bracketed).into_iter::<Value>();
            steps.push(match values.next() {
                Some(Ok(Value::String(key))) => Step::Key(key),
                Some(Ok(index)) => Step::Index(index.as_u64().and_then(|it| it.try_into().ok()).unwrap_or_default()),
                _ => return steps,
            });
            rest = bracketed.get(values.byte_offset()..).unwrap_or_default().trim_start_matches(']');
        } else {
            let (key, next) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
            steps.push(Step::Key(key.to_owned()));
            rest = next;
        }
    }
    steps
}

/// Returns a path in which keys stand as they are: `config.team-a`.
pub fn plain_path(path: &str) -> String {
    let text = steps(path).iter().fold(String::new(), |text, step| match step {
        Step::Key(key) => format!("{text}.{key}"),
        Step::Index(index) => format!("{text}[{index}]"),
    });
    text.trim_start_matches('.').to_owned()
}

/// Returns what stands at a path of a value.
pub fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    steps(path).iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// Removes what stands at the last of some steps, and returns whether something did.
fn remove_at(value: &mut Value, steps: &[Step]) -> bool {
    let Some((last, before)) = steps.split_last() else { return false };
    let parent = before.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    });
    match (parent, last) {
        (Some(Value::Object(members)), Step::Key(key)) => members.remove(key).is_some(),
        (Some(Value::Array(elements)), Step::Index(index)) if *index < elements.len() => {
            elements.remove(*index);
            true
        }
        _ => false,
    }
}

/// Returns all that is wrong with a value, and what is left without it. `read` returns the first of it.
pub fn all_wrong(value: &Value, read: impl Fn(&Value) -> Option<WrongType>) -> (Vec<WrongType>, Value) {
    let (mut rest, mut all, mut removed) = (value.clone(), vec![], vec![]);
    while let Some(mut wrong) = read(&rest) {
        let place = steps(&wrong.place());
        let is_gone = remove_at(&mut rest, &place);
        wrong.path = text_of(&before_removal(steps(&wrong.path), &removed));
        removed.push(before_removal(place, &removed));
        all.push(wrong);
        if !is_gone {
            break;
        }
    }
    (all, rest)
}

/// Returns where something stood before others were removed, in their order.
fn before_removal(steps: Vec<Step>, removed: &[Vec<Step>]) -> Vec<Step> {
    let mut place: Vec<Step> = vec![];
    for mut step in steps {
        for gone in removed {
            if let (Step::Index(index), Some((Step::Index(own), list))) = (&mut step, gone.split_last())
                && *list == place
                && *own <= *index
            {
                *index += 1;
            }
        }
        place.push(step);
    }
    place
}

fn text_of(steps: &[Step]) -> String {
    let is_plain = |key: &str| key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let text = steps.iter().fold(String::new(), |text, step| match step {
        Step::Key(key) if is_plain(key) => format!("{text}.{key}"),
        Step::Key(key) => format!("{text}[{key:?}]"),
        Step::Index(index) => format!("{text}[{index}]"),
    });
    text.trim_start_matches('.').to_owned()
}

/// Returns a value of a type, and the paths of the fields that the type does not have, as `spec.rules[0].resorces`:
/// each begins with `at`.
///
/// # Errors
/// The first field of a wrong type: its path, what was expected, and what was found.
pub fn typed<T: DeserializeOwned>(value: &Value, at: &str) -> Result<(T, Vec<String>)> {
    let mut unknown = vec![];
    let mut add = |path: serde_ignored::Path<'_>| unknown.push(format!("{at}{}", without_options(&path.to_string())));
    let read = deserialize(serde_ignored::Deserializer::new(value, &mut add), at)?;
    Ok((read, unknown))
}

/// Reads a part of an object, whose path begins with `at`. It is read from text, as whole objects are: a reader of Pods for
/// each format would be a large part of the program.
///
/// # Errors
/// The first field of a wrong type: its path, what was expected, and what was found.
pub fn part<T: DeserializeOwned>(value: &Value, at: &str) -> Result<T> {
    deserialize(&*to_raw_value(value)?, at)
}

/// Returns a value of a type, whose path begins with `at`.
///
/// # Errors
/// The first field of a wrong type: its path, what was expected, and what was found.
pub fn deserialize<'de, T, D>(json: D, at: &str) -> Result<T>
where
    T: Deserialize<'de>,
    D: Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(json).map_err(|error| {
        let path = format!("{at}{}", without_options(&error.path().to_string()));
        let (path, problem) = (path.trim_end_matches('.').to_owned(), expectation(error.inner()));
        WrongType { path, problem, unknown_field: None }.into()
    })
}

/// A field of a wrong type, or one that must not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongType {
    /// Its path: `spec.replicas`; or that of the object with the unknown field.
    pub path: String,
    /// The type that was expected, and the value that was found.
    pub problem: String,
    /// The name of the field, if it is unknown.
    pub unknown_field: Option<String>,
}

impl WrongType {
    /// Returns the path of the field.
    pub fn place(&self) -> String {
        let field = self.unknown_field.iter().map(|field| format!("[{}]", Value::from(field.as_str())));
        std::iter::once(self.path.clone()).chain(field).collect()
    }
}

impl From<&ReadError> for WrongType {
    fn from(error: &ReadError) -> Self {
        let (path, problem) = (error.path().to_owned(), error.problem().to_owned());
        Self { path, problem, unknown_field: error.unknown_field().map(str::to_owned) }
    }
}

impl error::Error for WrongType {}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.path.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{}", self.path, self.problem)
    }
}

/// Maps whose values are texts: there the API server reads nothing as the empty text.
const MAPS_OF_TEXTS: [&str; 4] = ["nodeSelector", "labels", "annotations", "matchLabels"];

/// Lists of texts: there too.
const LISTS_OF_TEXTS: [&str; 7] =
    ["args", "command", "values", "finalizers", "matchLabelKeys", "mismatchLabelKeys", "accessModes"];

/// Maps of quantities: there it reads nothing as zero.
const QUANTITIES: [&str; 6] = ["limits", "requests", "overhead", "podFixed", "allocatable", "capacity"];

/// Fields that programs write without a value.
const USUAL_NULLS: [&str; 4] = ["creationTimestamp", "lastProbeTime", "lastTransitionTime", "deletionTimestamp"];

/// Returns whether [`fill_nulls`] may change what a JSON text says.
pub fn may_have_nulls(text: &str) -> bool {
    text.match_indices("null").any(|(end, _)| {
        let before = text.get(..end).unwrap_or_default().trim_end().trim_end_matches(':').trim_end();
        let key = before.trim_end_matches('"').rsplit('"').next().unwrap_or_default();
        !USUAL_NULLS.contains(&key)
    })
}

/// Writes what the API server reads where an object says nothing for a text or a quantity of a map or list.
pub fn fill_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::Object(values) if MAPS_OF_TEXTS.contains(&name.as_str()) => {
                        values.values_mut().for_each(|value| fill(value, ""));
                    }
                    Value::Object(values) if QUANTITIES.contains(&name.as_str()) => {
                        values.values_mut().for_each(|value| fill(value, "0"));
                    }
                    Value::Array(values) if LISTS_OF_TEXTS.contains(&name.as_str()) => {
                        values.iter_mut().for_each(|value| fill(value, ""));
                    }
                    member => fill_nulls(member),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(fill_nulls),
        _ => {}
    }
}

fn fill(value: &mut Value, text: &str) {
    if value.is_null() {
        *value = text.into();
    }
}

/// Returns `rules.?.0.resorces` as `rules[0].resorces`: an `Option` is no step of a path.
fn without_options(path: &str) -> String {
    let mut fields = String::new();
    for step in path.split('.').filter(|step| *step != "?") {
        match step.parse::<usize>() {
            Ok(position) => fields += &format!("[{position}]"),
            Err(_) if fields.is_empty() => fields += step,
            Err(_) => fields += &format!(".{step}"),
        }
    }
    fields
}

/// Returns the words of an error of serde, as other mistakes have them.
pub fn expectation(error: &serde_json::Error) -> String {
    let text = error.to_string().replace("unknown variant", "unknown word");
    // The path says it better.
    let text = text.split(" at line ").next().unwrap_or_default().to_owned();
    if let Some((found, known)) = found_and_known(&text, "unknown field ") {
        return unknown_field(found, &known);
    }
    let Some((found, expected)) = text.strip_prefix("invalid type: ").and_then(|text| text.split_once(", expected "))
    else {
        return text;
    };
    let expected = match expected {
        "a boolean" => "true or false",
        "i64" => "a number",
        "u16" => "a whole number",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        "Quantity" => "a quantity",
        "IntOrString" => "a number or a text",
        "Time" | "MicroTime" => "a time",
        other if other.starts_with("struct ") || other.starts_with(char::is_uppercase) => "an object",
        other => other,
    };
    let found = match found {
        "map" => "an object",
        "sequence" => "a list",
        "null" => "nothing",
        found => found.split_once(' ').filter(|(kind, _)| *kind == "string").map_or(found, |(_, text)| text),
    };
    format!("expected {expected}; found {found}")
}
