//! YAML, of which JSON is a part: it is read as JSON, with the line on which everything stands, and written so that readers
//! of YAML 1.1 take no text for something else.

use std::{
    collections::{BTreeMap, BTreeSet},
    error, fmt, mem,
    ops::Range,
    sync::Arc,
};

use anyhow::Result;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput};
use serde::Serialize;
use serde_json::Value;

/// As deep as Kubewarden's host reads JSON.
const MOST_LEVELS: usize = 128;
/// An alias stands for a copy, so that a few lines could become more than fits into memory: as many bytes of JSON.
const MOST_COPIED: usize = 8 * 1024 * 1024;

/// A place in a file, counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Its line.
    pub line: usize,
    /// Its column, in characters.
    pub column: usize,
}

/// A document of a YAML file, or an item of a list of objects in it.
#[derive(Debug, Default)]
pub struct Document {
    /// What it says.
    pub value: Value,
    /// Where it begins in its document: `.items[2]` of a `List`.
    root: String,
    marks: Arc<Marks>,
}

/// What is known of the text of a document.
#[derive(Debug, Default)]
struct Marks {
    /// Where fields and elements stand, by their paths: `.spec.rules[0]`.
    positions: BTreeMap<String, Position>,
    words: Vec<Word>,
}

/// A text without quotes that readers of YAML 1.1, such as kubectl, take for something else: `yes`, `2024-01-01`.
#[derive(Debug)]
struct Word {
    /// As it is written.
    text: String,
    /// The field or element that it is, or that is called so.
    path: String,
    /// Behind its last character, counted from the beginning of the file.
    end: usize,
}

/// What kubectl takes for true or false, beside `true` and `false`.
const BOOLEANS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

/// Whether kubectl takes a text without quotes for true or false, and other readers do not.
pub fn is_boolean_for_kubectl(text: &str) -> bool {
    BOOLEANS.iter().any(|boolean| text.eq_ignore_ascii_case(boolean))
}

/// Whether readers of YAML 1.1 take a text without quotes for something else: true or false, a number, a date.
fn needs_quotes(text: &str) -> bool {
    let begins_with_digit = text.trim_start_matches(['+', '-', '.']).starts_with(|first: char| first.is_ascii_digit());
    let is_in_numbers = |character: char| character.is_ascii_alphanumeric() || "+-._:".contains(character);
    is_boolean_for_kubectl(text) || begins_with_digit && text.chars().all(is_in_numbers)
}

/// Data as YAML, in which readers of YAML 1.1 take no text for something else.
///
/// # Errors
/// It can't be written.
pub fn write(data: &impl Serialize) -> Result<String> {
    Ok(quoted(&yaml_serde::to_string(data)?))
}

/// A text with quotes around all that readers of YAML 1.1 would take for something else than a text. Comments stay.
pub fn quoted(text: &str) -> String {
    let documents = read(text).documents;
    let words = documents.iter().flat_map(|document| &document.marks.words);
    let words: BTreeSet<(usize, usize)> = words.map(|word| (word.end, word.text.len())).collect();
    let mut characters: Vec<char> = text.chars().collect();
    for (end, length) in words.into_iter().rev() {
        characters.insert(end, '"');
        characters.insert(end - length, '"');
    }
    characters.into_iter().collect()
}

/// What a YAML file has, up to the first error.
#[derive(Debug, Default)]
pub struct File {
    /// Its documents. Empty ones are left out, and the items of a list of objects stand in its place.
    pub documents: Vec<Document>,
    /// What can't be read, if something can't.
    pub error: Option<SyntaxError>,
}

/// Why a file can't be read to its end.
#[derive(Debug)]
pub struct SyntaxError {
    /// Where.
    pub position: Position,
    /// Why.
    pub problem: String,
}

impl error::Error for SyntaxError {}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.position.line, self.position.column, self.problem)
    }
}

impl From<ScanError> for SyntaxError {
    fn from(error: ScanError) -> Self {
        Self { position: (*error.marker()).into(), problem: error.info().to_owned() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

impl From<Marker> for Position {
    fn from(marker: Marker) -> Self {
        Self { line: marker.line(), column: marker.col() + 1 }
    }
}

/// Reads the documents of a file.
pub fn read(text: &str) -> File {
    let mut file = File::default();
    let mut reader = Reader::new(text, true);
    loop {
        match reader.document() {
            Ok(Some(document)) => document.add_to(&mut file.documents),
            Ok(None) => return file,
            Err(error) => {
                // JSON may write a character as two halves, which YAML does not know.
                match serde_json::from_str(text).ok().filter(|_| error.problem.contains("Unicode character escape")) {
                    Some(value) => Document { value, ..Document::default() }.add_to(&mut file.documents),
                    None => file.error = Some(error),
                }
                return file;
            }
        }
    }
}

/// The documents of a file as JSON texts, one by one. A large one is never there as a tree.
///
/// # Errors
/// Something can't be read: where, and why.
pub fn json_documents(text: &str) -> impl Iterator<Item = Result<String, SyntaxError>> {
    let mut reader = Reader::new(text, false);
    std::iter::from_fn(move || reader.json_document().transpose())
}

impl Document {
    /// Where the field or element at `path` stands, such as `spec.rules[0].resources`; where there is none, where that
    /// stands which would have it.
    pub fn position(&self, path: &str) -> Option<Position> {
        let dot = if path.starts_with('[') || path.is_empty() { "" } else { "." };
        let mut path = format!("{}{dot}{path}", self.root);
        loop {
            if let Some(position) = self.marks.positions.get(&path) {
                return Some(*position);
            }
            path.truncate(path.rfind(['.', '['])?);
        }
    }

    /// What kubectl takes for true or false, though it is a text here: its path, and itself.
    pub fn booleans_for_kubectl(&self) -> impl Iterator<Item = (&str, &str)> {
        let booleans = self.marks.words.iter().filter(|word| is_boolean_for_kubectl(&word.text));
        booleans.filter_map(|word| {
            let path = word.path.strip_prefix(&self.root)?;
            Some((path.trim_start_matches('.'), word.text.as_str()))
        })
    }

    /// Adds the document, or the items of a list of objects, which may be lists again.
    fn add_to(mut self, documents: &mut Vec<Self>) {
        let is_list = self.value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
        match self.value.get_mut("items").filter(|_| is_list).map(Value::take) {
            Some(Value::Array(items)) => {
                for (place, value) in items.into_iter().enumerate() {
                    let (root, marks) = (format!("{}.items[{place}]", self.root), self.marks.clone());
                    Self { value, root, marks }.add_to(documents);
                }
            }
            _ if self.value.is_null() => {}
            _ => documents.push(self),
        }
    }
}

/// Writes YAML as JSON.
struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Where the event stands that was read last.
    here: Span,
    /// The document so far.
    json: String,
    /// Whether there are marks: those of a large document would take more memory than itself.
    has_marks: bool,
    marks: Marks,
    /// The parts of the document that aliases stand for.
    anchors: BTreeMap<usize, Range<usize>>,
    levels: usize,
    /// How many bytes aliases have added.
    copied: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str, has_marks: bool) -> Self {
        Self {
            parser: Parser::new_from_str(text.trim_start_matches('\u{feff}')),
            here: Span::empty(Marker::new(0, 1, 0)),
            json: String::new(),
            has_marks,
            marks: Marks::default(),
            anchors: BTreeMap::new(),
            levels: 0,
            copied: 0,
        }
    }

    fn document(&mut self) -> Result<Option<Document>, SyntaxError> {
        let Some(json) = self.json_document()? else { return Ok(None) };
        // Aliases may add levels.
        let value = serde_json::from_str(&json).map_err(|_| self.too_deep())?;
        Ok(Some(Document { value, root: String::new(), marks: Arc::new(mem::take(&mut self.marks)) }))
    }

    fn json_document(&mut self) -> Result<Option<String>, SyntaxError> {
        self.anchors.clear();
        loop {
            match self.next()? {
                Event::StreamEnd => return Ok(None),
                Event::DocumentStart(_) => break,
                _ => {}
            }
        }
        let first = self.next()?;
        self.add_value(first, "")?;
        Ok(Some(mem::take(&mut self.json)))
    }

    fn next(&mut self) -> Result<Event<'t>, SyntaxError> {
        let (event, span) = self.parser.next_event().unwrap_or(Ok((Event::StreamEnd, Span::default())))?;
        if event != Event::StreamEnd {
            self.here = span;
        }
        Ok(event)
    }

    fn mistake(&self, problem: impl Into<String>) -> SyntaxError {
        SyntaxError { position: self.here.start.into(), problem: problem.into() }
    }

    fn too_deep(&self) -> SyntaxError {
        self.mistake(format!("nested deeper than {MOST_LEVELS} levels"))
    }

    fn add_value(&mut self, event: Event<'t>, path: &str) -> Result<(), SyntaxError> {
        if self.has_marks {
            // A field stands where its key does.
            let here = self.here.start.into();
            self.marks.positions.entry(path.to_owned()).or_insert(here);
        }
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(self.too_deep());
        }
        let start = self.json.len();
        let anchor = match &event {
            Event::Scalar(_, _, anchor, _) | Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                *anchor
            }
            _ => 0,
        };
        match event {
            Event::Alias(original) => self.add_copy(original)?,
            Event::SequenceStart(..) => self.add_list(path)?,
            Event::MappingStart(..) => self.add_object(path)?,
            Event::Scalar(text, style, _, tag) => {
                let is_text = style != ScalarStyle::Plain || tag.is_some_and(|tag| tag.suffix == "str");
                let value = if is_text { text.as_ref().into() } else { plain(&text) };
                if !is_text && value.is_string() {
                    self.note_word(&text, path);
                }
                self.json += &value.to_string();
            }
            event => return Err(self.mistake(format!("expected a value, found {event:?}"))),
        }
        self.levels -= 1;
        if anchor != 0 {
            self.anchors.insert(anchor, start..self.json.len());
        }
        Ok(())
    }

    fn add_copy(&mut self, anchor: usize) -> Result<(), SyntaxError> {
        let Some(original) = self.anchors.get(&anchor).cloned() else {
            return Err(self.mistake("an alias stands within what it refers to"));
        };
        self.copied += original.len();
        if self.copied > MOST_COPIED {
            return Err(self.mistake(format!("repetition limit exceeded: aliases copy more than {MOST_COPIED} bytes")));
        }
        self.json.extend_from_within(original);
        Ok(())
    }

    fn add_list(&mut self, path: &str) -> Result<(), SyntaxError> {
        self.json.push('[');
        for position in 0.. {
            let event = self.next()?;
            if event == Event::SequenceEnd {
                break;
            }
            if position > 0 {
                self.json.push(',');
            }
            self.add_value(event, &format!("{path}[{position}]"))?;
        }
        self.json.push(']');
        Ok(())
    }

    fn add_object(&mut self, path: &str) -> Result<(), SyntaxError> {
        let mut keys = BTreeSet::new();
        self.json.push('{');
        loop {
            let key = match self.next()? {
                Event::MappingEnd => break,
                Event::Scalar(text, style, ..) => {
                    if style == ScalarStyle::Plain {
                        self.note_word(&text, &format!("{path}.{text}"));
                    }
                    text.into_owned()
                }
                _ => return Err(self.mistake("expected a key that is a text")),
            };
            if keys.contains(&key) {
                return Err(self.mistake(format!("repeated key {key:?}")));
            }
            let path = format!("{path}.{key}");
            if self.has_marks {
                self.marks.positions.insert(path.clone(), self.here.start.into());
            }
            if !keys.is_empty() {
                self.json.push(',');
            }
            self.json += &format!("{}:", Value::from(key.as_str()));
            keys.insert(key);
            let event = self.next()?;
            self.add_value(event, &path)?;
        }
        self.json.push('}');
        Ok(())
    }

    fn note_word(&mut self, text: &str, path: &str) {
        if self.has_marks && needs_quotes(text) {
            let (text, path) = (text.to_owned(), path.to_owned());
            self.marks.words.push(Word { text, path, end: self.here.end.index() });
        }
    }
}

/// A scalar without quotes, as the crate `yaml_serde` reads it.
fn plain(text: &str) -> Value {
    let is_word = text.starts_with(char::is_alphabetic)
        && !["null", "true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
    // Alone, the others would be marks between documents.
    if is_word || text.starts_with("---") || text.starts_with("...") {
        return text.into();
    }
    yaml_serde::from_str(text).unwrap_or_else(|_| text.into())
}

#[cfg(test)]
mod tests {
    use super::{Position, quoted, read, write};
    use serde_json::json;

    #[rstest::rstest]
    #[case::a_field("a:\n  b: 1", "a.b", (2, 3))]
    #[case::an_element("a:\n- 1\n- 2", "a[1]", (3, 3))]
    #[case::an_element_that_is_an_object("a:\n- b: 1\n  c: 2\n", "a[0].c", (3, 3))]
    #[case::a_field_that_is_missing("a:\n  b: {}", "a.b.c.d[0]", (2, 3))]
    #[case::json("{\n  \"a\": [\n    {\"b\": 1}\n  ]\n}", "a[0].b", (3, 6))]
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

    #[rstest::rstest]
    #[case::a_value("a: yes # no\nb: 1\n", "a: \"yes\" # no\nb: 1\n")]
    #[case::several_of_a_line("{ä: yes, b: [no, x, On]}", "{ä: \"yes\", b: [\"no\", x, \"On\"]}")]
    #[case::a_key("no: 1\r\n", "\"no\": 1\r\n")]
    #[case::a_second_document("a: 1\n---\nb: &x off\nc: *x\n", "a: 1\n---\nb: &x \"off\"\nc: *x\n")]
    #[case::nothing("a: true\nb: 'yes'\nc: \"no\"\nd: |\n  on\n", "a: true\nb: 'yes'\nc: \"no\"\nd: |\n  on\n")]
    #[case::a_date("2024-01-01: 2024-01-01T00:00:00Z\n", "\"2024-01-01\": \"2024-01-01T00:00:00Z\"\n")]
    #[case::a_number_of_yaml_1_1("a: [1_000, 012, 1:30, +.5_0]", "a: [\"1_000\", \"012\", \"1:30\", \"+.5_0\"]")]
    #[case::a_number_of_everybody("a: [1, 1.5, 1 a]", "a: [1, 1.5, 1 a]")]
    fn what_yaml_1_1_takes_for_something_else_is_quoted(#[case] text: &str, #[case] with_quotes: &str) {
        assert_eq!(quoted(text), with_quotes);
        assert_eq!(read(text).documents[0].value, read(with_quotes).documents[0].value);
    }

    #[test]
    fn texts_are_written_as_texts() {
        let data = json!({ "no": ["on", "y", "YES", "2024-01-01", "1_000", "0b1", "1e3", "12:30:45", "~", "web-1"] });
        let written = "\"no\":\n- \"on\"\n- \"y\"\n- \"YES\"\n- \"2024-01-01\"\n- \"1_000\"\n- '0b1'\n- '1e3'\n- \"12:30:45\"\n\
                       - '~'\n- web-1\n";
        assert_eq!(write(&data).unwrap(), written);
    }

    #[test]
    fn the_items_of_a_list_are_documents() {
        let file = read("kind: List\nitems:\n- a: 1\n- a: 2\n---\na: 3\n");
        let values: Vec<_> = file.documents.iter().map(|document| document.value.clone()).collect();
        assert_eq!(values, [json!({"a": 1}), json!({"a": 2}), json!({"a": 3})]);
        let lines: Vec<_> = file.documents.iter().map(|document| document.position("a").unwrap().line).collect();
        assert_eq!(lines, [3, 4, 6]);
    }

    #[rstest::rstest]
    #[case::a_bracket("a: 1\n---\nb: [1\n---\n", 1, 4)]
    #[case::indentation("a: 1\n---\nb:\n  - c\n d: 1\n", 1, 5)]
    #[case::a_key_twice("a: 1\n---\nb: 1\nb: 2\n", 1, 4)]
    #[case::a_tab("a:\n\tb: 1\n", 0, 2)]
    fn what_stands_before_an_error_is_read(#[case] text: &str, #[case] documents: usize, #[case] line: usize) {
        let file = read(text);
        assert_eq!(file.documents.len(), documents);
        assert_eq!(file.error.map(|error| error.position.line), Some(line));
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

    #[rstest::rstest]
    fn scalars_are_read_as_everywhere_else(
        #[values(
            "~",
            "null",
            "yes",
            "on",
            "true",
            "TRUE",
            "tRUE",
            "0",
            "-0",
            "+1",
            "12",
            "-12",
            "007",
            "0x1F",
            "0o17",
            "0b11",
            "1.5",
            "-1.5",
            "+1.5",
            ".5",
            "5.",
            "1e3",
            "1E-3",
            "1.5e+3",
            "inf",
            "nan",
            "infinity",
            "1_000",
            "18446744073709551615",
            "-9223372036854775808",
            "--1",
            "+-1",
            "+",
            ".",
            "..",
            "1.2.3",
            "1e",
            "0x",
            "2001-01-01",
            "12:30",
            "1a",
            "e3",
            "00",
            "0.0",
            "01.5",
            ".inf",
            ".nan",
            "---",
            "...",
            "-a",
            "a #b",
            "a, b]",
            "=",
            "<<",
            "a\n  b"
        )]
        text: &str,
    ) {
        let mut compared = 0;
        for text in [format!("a: {text}"), format!("[{text}, b]"), format!("- {text}\n- {text} # c")] {
            let Ok(expected) = yaml_serde::from_str::<serde_json::Value>(&text) else { continue };
            assert_eq!(read(&text).documents[0].value, expected, "{text}");
            compared += 1;
        }
        assert!(compared > 0);
    }
}
