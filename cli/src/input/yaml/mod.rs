//! YAML and JSON, read as kubectl reads them: as JSON, with the line on which everything stands.

mod reader;
mod scalar;
mod writer;

use std::{collections::BTreeMap, error, fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Value, value::RawValue};

use self::reader::Reader;
pub use self::{scalar::needs_quotes, writer::write};
use super::json::plain_path;

/// JSON files of at most this size are looked at for repeated keys; larger ones are written by programs.
const LOOKED_AT: usize = 1024 * 1024;

/// A place in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Its line.
    pub line: usize,
    /// Its column, in characters.
    pub column: usize,
}

/// A document of a file, or an item of a list of objects in it.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Its content.
    pub value: Value,
    /// The path at which it begins in its document: `.items[2]` of a `List`.
    root: String,
    marks: Arc<Marks>,
}

/// The places in the text of a document.
#[derive(Clone, Debug, Default)]
struct Marks {
    /// The positions of fields and elements, by their paths: `.spec.rules[0]`.
    positions: BTreeMap<String, Position>,
    /// Words without quotes that kubectl reads as true or false, by their paths: `yes`.
    words: BTreeMap<String, String>,
    repeated: Vec<RepeatedKey>,
}

/// A key that a mapping has twice. The last one counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatedKey {
    /// The position of the last one.
    pub position: Position,
    /// Its path: `spec.replicas`.
    pub path: String,
}

/// A document as a JSON text.
#[derive(Debug)]
pub struct JsonDocument {
    /// The text.
    pub json: Box<RawValue>,
    /// The keys that stand in it twice.
    pub repeated: Vec<RepeatedKey>,
}

/// The content of a file, up to the first error.
#[derive(Debug, Default)]
pub struct File {
    /// Its documents. Empty ones are left out, and the items of a list of objects stand in its place.
    pub documents: Vec<Document>,
    /// The first error, if there is one.
    pub error: Option<SyntaxError>,
}

/// An error that keeps a file from being read to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Its position.
    pub position: Position,
    /// The problem, in words.
    pub problem: String,
}

impl error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.position.line, self.position.column, self.problem)
    }
}

impl From<serde_json::Error> for SyntaxError {
    fn from(error: serde_json::Error) -> Self {
        let position = Position { line: error.line(), column: error.column() };
        Self { position, problem: error.to_string().split(" at line ").next().unwrap_or_default().to_owned() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Reads the documents of a file.
pub fn read(text: &str) -> File {
    let mut file = File::default();
    for document in Documents::new(text, true) {
        match document {
            Ok((json, marks)) => match serde_json::from_str(json.get()) {
                Ok(value) => {
                    Document { value, root: String::new(), marks: Arc::new(marks) }.add_to(&mut file.documents);
                }
                Err(error) => file.error = Some(error.into()),
            },
            Err(error) => file.error = Some(error),
        }
    }
    file
}

/// Reads the documents of a file as JSON texts, one by one. A large one is never there as a tree.
///
/// # Errors
/// Something can't be read: where, and why.
pub fn json_documents(text: &str) -> impl Iterator<Item = Result<JsonDocument, SyntaxError>> {
    let documents = Documents::new(text, false);
    documents.map(|document| document.map(|(json, marks)| JsonDocument { json, repeated: marks.repeated }))
}

/// Reads a table that is built in. That each can be read is a test: one that can't be is empty.
pub fn built_in<T: DeserializeOwned + Default>(text: &str) -> T {
    let document = json_documents(text).next().and_then(Result::ok);
    document.and_then(|document| serde_json::from_str(document.json.get()).ok()).unwrap_or_default()
}

impl Document {
    /// Returns where the field or element at `path` stands, such as `spec.rules[0].resources`; where there is none, where
    /// that stands which would have it.
    pub fn position(&self, path: &str) -> Option<Position> {
        let path = plain_path(path);
        let dot = if path.starts_with('[') || path.is_empty() { "" } else { "." };
        let mut path = format!("{}{dot}{path}", self.root);
        loop {
            if let Some(position) = self.marks.positions.get(&path) {
                return Some(*position);
            }
            path.truncate(path.rfind(['.', '['])?);
        }
    }

    /// Returns the word without quotes at `path`, if kubectl takes it for true or false: `yes`.
    pub fn word(&self, path: &str) -> Option<&str> {
        self.marks.words.get(&format!("{}.{path}", self.root)).map(String::as_str)
    }

    /// Returns the paths of all such words, and the words.
    pub fn words(&self) -> impl Iterator<Item = (&str, &str)> {
        let words = self.marks.words.iter();
        words.filter_map(|(path, word)| Some((path.strip_prefix(&self.root)?.trim_start_matches('.'), word.as_str())))
    }

    /// Returns the keys that stand twice in one mapping.
    pub fn repeated_keys(&self) -> impl Iterator<Item = &RepeatedKey> {
        let root = self.root.trim_start_matches('.');
        self.marks.repeated.iter().filter(move |key| key.path.starts_with(root))
    }

    /// Adds the document, or the items of a list of objects.
    fn add_to(mut self, documents: &mut Vec<Self>) {
        let Some(kind) = list_kind(&self.value) else {
            if !self.value.is_null() {
                documents.push(self);
            }
            return;
        };
        let api_version = self.value["apiVersion"].clone();
        let items = self.value.get_mut("items").map(Value::take).unwrap_or_default();
        let Value::Array(items) = items else { return };
        for (place, mut value) in items.into_iter().enumerate() {
            if let Some(kind) = &kind
                && value.get("kind").is_none()
            {
                value["kind"] = kind.as_str().into();
                value["apiVersion"] = api_version.clone();
            }
            let (root, marks) = (format!("{}.items[{place}]", self.root), self.marks.clone());
            Self { value, root, marks }.add_to(documents);
        }
    }
}

/// Returns the kind of the items of a list of objects: none, of a `List`.
fn list_kind(value: &Value) -> Option<Option<String>> {
    value.get("items").filter(|items| items.is_array())?;
    let kind = value["kind"].as_str()?.strip_suffix("List")?;
    Some((!kind.is_empty()).then(|| kind.to_owned()))
}

/// The documents of a text: kubectl takes them apart at lines with `---`, and reads each as JSON objects, one after the
/// other, or as YAML.
struct Documents<'t> {
    text: &'t str,
    /// The rest of the part between two lines with `---`.
    part: &'t str,
    /// The text behind that part.
    rest: &'t str,
    reader: Option<Reader<'t>>,
    /// Up to which byte lines have been counted, and how many there are.
    counted: (usize, usize),
    has_marks: bool,
    has_failed: bool,
}

impl<'t> Documents<'t> {
    fn new(text: &'t str, has_marks: bool) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        Self { text, part: "", rest: text, reader: None, counted: (0, 0), has_marks, has_failed: false }
    }

    fn document(&mut self) -> Result<Option<(Box<RawValue>, Marks)>, SyntaxError> {
        loop {
            if let Some(reader) = &mut self.reader {
                if let Some(document) = reader.document()? {
                    return Ok(Some(document));
                }
                self.reader = None;
            }
            let skipped = self.part.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']);
            if skipped.is_empty() {
                if self.rest.is_empty() {
                    return Ok(None);
                }
                self.next_part();
            } else if let Some(json) = skipped.starts_with('{').then(|| first_json(skipped)).flatten() {
                self.part = skipped.get(json.get().len()..).unwrap_or_default();
                return self.json(skipped, json).map(Some);
            } else {
                let part = std::mem::take(&mut self.part).trim_start_matches('\u{feff}');
                let lines = self.lines_before(part);
                self.reader = Some(Reader::new(part, lines, self.has_marks));
            }
        }
    }

    /// Returns a JSON object, read with its positions unless it is large, or YAML does not have what it contains.
    fn json(&mut self, text: &'t str, json: &'t RawValue) -> Result<(Box<RawValue>, Marks), SyntaxError> {
        if self.text.len() <= LOOKED_AT || self.has_marks {
            let mut reader = Reader::new(json.get(), self.lines_before(text), self.has_marks);
            if let Ok(Some(document)) = reader.document() {
                return Ok(document);
            }
        }
        reject_half_characters(json)?;
        Ok((json.to_owned(), Marks::default()))
    }

    /// Goes on to the part up to the next line with `---`.
    fn next_part(&mut self) {
        let rest = self.rest;
        let begins_document = |line: &str| {
            let line = line.trim_start_matches('\u{feff}');
            line.strip_prefix("---").is_some_and(|after| after.trim_end().is_empty() || after.starts_with([' ', '\t']))
        };
        let mut end = 0;
        for (number, line) in rest.split_inclusive('\n').enumerate() {
            if number > 0 && begins_document(line) {
                break;
            }
            end += line.len();
        }
        (self.part, self.rest) = rest.split_at(end);
        let first = self.part.split_inclusive('\n').next().unwrap_or_default();
        let after = first.trim_start_matches('\u{feff}').strip_prefix("---").map(str::trim);
        if begins_document(first) && after.is_some_and(|after| after.is_empty() || after.starts_with('#')) {
            self.part = self.part.get(first.len()..).unwrap_or_default();
        }
    }

    /// Returns how many lines stand before what is left of a part, which `rest` follows. Parts come in their order.
    fn lines_before(&mut self, part: &str) -> usize {
        let start = self.text.len() - self.rest.len() - part.len();
        let (counted, lines) = self.counted;
        let between = self.text.bytes().take(start).skip(counted);
        self.counted = (start, lines + between.filter(|byte| *byte == b'\n').count());
        self.counted.1
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<(Box<RawValue>, Marks), SyntaxError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        let document = self.document();
        self.has_failed = document.is_err();
        let is_template = ["{{", "{%"].iter().any(|mark| self.text.contains(mark));
        document.map_err(|error| if is_template { error.of_template() } else { error }).transpose()
    }
}

impl SyntaxError {
    /// Returns the error with the name of its file: `web.yml:2:1: …`.
    pub fn of_file(&self, file: impl fmt::Display) -> String {
        format!("{file}:{}: {}", self.position, self.problem)
    }

    fn of_template(self) -> Self {
        let problem =
            format!("{}; this looks like a template: render it first, for example with helm template", self.problem);
        Self { problem, ..self }
    }
}

/// Rejects an escape that is half of a character, which [`RawValue`] accepts: `\ud83d` alone.
fn reject_half_characters(json: &RawValue) -> Result<(), SyntaxError> {
    if ["\\ud", "\\uD"].iter().any(|escape| json.get().contains(escape)) {
        serde_json::from_str::<Value>(json.get())?;
    }
    Ok(())
}

/// Returns the JSON object that a text begins with.
fn first_json(text: &str) -> Option<&RawValue> {
    serde_json::Deserializer::from_str(text).into_iter().next()?.ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[test]
    fn inputs_are_read_as_kubectl_reads_them() {
        let rows = include_str!("../../../tests/yaml/as-kubectl-reads.txt").lines();
        let rows: Vec<&str> = rows.filter(|row| row.contains(" => ") || row.ends_with(" =>")).collect();
        assert!(rows.len() > 151, "{}", rows.len());
        for row in rows {
            let (input, expected) = row.rsplit_once(" => ").unwrap_or((row.trim_end_matches(" =>"), ""));
            let input = unescaped(input);
            let File { documents, error } = read(&input);
            let found: Vec<String> = documents.iter().map(|document| document.value.to_string()).collect();
            let found = match error {
                Some(_) => "error".to_owned(),
                None if found.is_empty() => "nothing".to_owned(),
                None => found.join(" "),
            };
            assert_eq!(found, expected, "{row}");
            // Without positions, the same.
            let texts: Result<Vec<String>, _> =
                json_documents(&input).map(|it| it.map(|it| it.json.get().to_owned())).collect();
            assert_eq!(texts.is_err(), expected == "error", "{row}: {texts:?}");
        }
    }

    /// Returns a text in which `\\n`, `\\t`, `\\r` and `\\ufeff` are what they stand for.
    fn unescaped(text: &str) -> String {
        let escapes = [("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\\ufeff", "\u{feff}")];
        let text = text.replace("\\\\", "\u{1}");
        escapes.iter().fold(text, |text, (from, to)| text.replace(from, to)).replace('\u{1}', "\\")
    }

    #[rstest]
    #[case::a_field("a:\n  b: 1", "a.b", (2, 3))]
    #[case::an_element("a:\n- 1\n- 2", "a[1]", (3, 3))]
    #[case::an_element_that_is_an_object("a:\n- b: 1\n  c: 2\n", "a[0].c", (3, 3))]
    #[case::a_field_that_is_missing("a:\n  b: {}", "a.b.c.d[0]", (2, 3))]
    #[case::json("{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}", "a[0].b", (3, 6))]
    #[case::json_behind_something("\n\n{\n  \"a\": 1}", "a", (4, 3))]
    #[case::behind_a_line("---\n# why\n---\na: 1", "a", (4, 1))]
    #[case::carriage_returns("a:\r\n  b: 1\r\n  c: 2\r\n", "a.c", (3, 3))]
    #[case::a_byte_order_mark("\u{feff}a:\n  b: 1", "a", (1, 1))]
    #[case::tabs("{\n\t\"a\": {\n\t\t\"b\": 1\n\t}\n}", "a.b", (3, 3))]
    #[case::letters_beyond_ascii("{ä: 1, b: 2}", "b", (1, 8))]
    #[case::all_of_it("# why\na: 1", "", (2, 1))]
    fn everything_has_a_position(#[case] text: &str, #[case] path: &str, #[case] (line, column): (usize, usize)) {
        let file = read(text);
        assert!(file.error.is_none(), "{:?}", file.error);
        assert_eq!(file.documents[0].position(path), Some(Position { line, column }));
    }

    #[test]
    fn texts_are_written_as_texts() {
        let data = json!({ "no": ["on", "y", "YES", "2024-01-01", "1_000", "0b1", "1e3", "12:30:45", "~", "web-1"] });
        let written = write(&data).unwrap();
        let expected = "\"no\":\n- \"on\"\n- \"y\"\n- \"YES\"\n- \"2024-01-01\"\n- \"1_000\"\n- \"0b1\"\n- \"1e3\"\n\
                        - \"12:30:45\"\n- \"~\"\n- web-1\n";
        assert_eq!(written, expected);
        let others =
            json!({ "a": {}, "b": [], "c": ["", "x # y", "a: b", "a\nb", " a", "- a", true, null, 1.5], "d": "é" });
        for data in [data, others] {
            assert_eq!(read(&write(&data).unwrap()).documents[0].value, data);
        }
    }

    #[test]
    fn the_items_of_a_list_are_documents() {
        let file = read("kind: List\nitems:\n- a: 1\n- a: 2\n---\na: 3\n");
        let values: Vec<_> = file.documents.iter().map(|document| document.value.clone()).collect();
        assert_eq!(values, [json!({"a": 1}), json!({"a": 2}), json!({"a": 3})]);
        let lines: Vec<_> = file.documents.iter().map(|document| document.position("a").unwrap().line).collect();
        assert_eq!(lines, [3, 4, 6]);
    }

    #[test]
    fn repeated_keys_are_told_with_their_place() {
        let repeated = |text: &str| read(text).documents[0].repeated_keys().cloned().collect::<Vec<_>>();
        let key =
            |line, column, path: &str| vec![RepeatedKey { position: Position { line, column }, path: path.to_owned() }];
        assert_eq!(repeated("a:\n  b: 1\n  c: 1\n  b: 2"), key(4, 3, "a.b"));
        assert_eq!(repeated("{\"a\": 1,\n \"a\": 2}"), key(2, 2, "a"));
        assert_eq!(repeated("a: &x {b: 1}\nc: {<<: *x, b: 2}"), []);
    }

    #[rstest]
    #[case::a_bracket("a: 1\n---\nb: [1\n---\n", 1, 4)]
    #[case::indentation("a: 1\n---\nb:\n  - c\n d: 1\n", 1, 5)]
    #[case::a_tab("a:\n\tb: 1\n", 0, 2)]
    #[case::a_template("{{- if .Values.a }}\na: 1\n{{- end }}\n", 0, 1)]
    fn what_stands_before_an_error_is_read(#[case] text: &str, #[case] documents: usize, #[case] line: usize) {
        let file = read(text);
        assert_eq!(file.documents.len(), documents);
        let error = file.error.unwrap();
        assert_eq!(error.position.line, line, "{error}");
        assert_eq!(error.problem.contains("render it first"), text.contains("{{"), "{error}");
    }

    #[test]
    fn aliases_do_not_fill_the_memory() {
        let mut text = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            text += &format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", "));
        }
        assert!(read(&text).error.is_some_and(|error| error.problem.contains("aliases")));
        assert!(read(&format!("a: {}", "[".repeat(5000))).error.is_some());
        assert!(read("a: &x [*x]").error.is_some());
    }

    #[test]
    fn words_that_kubectl_takes_for_booleans_are_known() {
        let file = read("kind: List\nitems: [{a: {b: yes, c: true, d: \"no\"}}]");
        assert_eq!(["a.b", "a.c", "a.d"].map(|path| file.documents[0].word(path)), [Some("yes"), None, None]);
    }
}
