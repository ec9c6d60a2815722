//! Where in a text an error of `serde_json` is: it tells the line and the column, and whoever wrote the text needs the
//! path.

use serde_json::Deserializer;

/// How deep `serde_json` reads.
const DEEPEST: usize = 128;

/// A list or an object that is open where the error is, and how far it was read.
enum Open {
    /// The position of an element.
    List(usize),
    /// The key of a member, unless there was none yet.
    Object(Option<String>),
}

/// The steps to the value in `text` that `error` is about, as in `spec`, `containers`, `[0]`; none for the whole text.
///
/// The text is read once more, up to there. What is open where it ends so early is the path.
pub fn steps_to(error: &serde_json::Error, text: &str) -> Vec<String> {
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let (read, next) = text.split_at_checked(before + error.column()).unwrap_or((text, ""));
    let mut rest = read.trim_end();
    // A list that is not wanted may have been entered. A list or an object that its first element must not be was not.
    if !next.starts_with(['[', '{']) {
        rest = rest.strip_suffix('[').unwrap_or(rest);
    }
    // Whether a word is known is asked once it is read, and by then the object that ends behind it is closed.
    if error.to_string().starts_with("unknown variant") {
        rest = rest.strip_suffix('}').unwrap_or(rest);
    }
    let mut open: Vec<Open> = Vec::new();
    let mut key_is_next = false;
    while open.len() < DEEPEST
        && let Some(sign) = rest.chars().next()
    {
        let mut length = sign.len_utf8();
        match (sign, open.last_mut()) {
            ('[', _) => open.push(Open::List(0)),
            ('{', _) => {
                open.push(Open::Object(None));
                key_is_next = true;
            }
            (']', Some(Open::List(_))) | ('}', Some(Open::Object(_))) => drop(open.pop()),
            (',', Some(Open::List(position))) => *position += 1,
            (',', _) => key_is_next = true,
            (':', _) => key_is_next = false,
            ('"', last) => {
                let mut strings = Deserializer::from_str(rest).into_iter::<String>();
                let Some(Ok(string)) = strings.next() else { break };
                length = strings.byte_offset();
                if let (Some(Open::Object(key)), true) = (last, key_is_next) {
                    *key = Some(string);
                }
            }
            _ => {}
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    open.into_iter().filter_map(step).collect()
}

fn step(open: Open) -> Option<String> {
    match open {
        Open::List(position) => Some(format!("[{position}]")),
        Open::Object(key) => key.map(|key| step_to(&key)),
    }
}

/// The step to the member `key` of an object.
pub fn step_to(key: &str) -> String {
    let is_plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_plain { key.to_owned() } else { format!("[{key:?}]") }
}
