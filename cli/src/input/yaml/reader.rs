//! Writes YAML as JSON.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    mem,
    ops::Range,
};

use libyaml_safer::{Error, Event, EventData, Mark, Parser, ScalarStyle};
use serde_json::{Value, value::RawValue};

use super::{Marks, Position, RepeatedKey, SyntaxError, scalar};

/// As deep as Kubewarden's host reads JSON.
const MOST_LEVELS: usize = 128;

/// An alias stands for a copy, so that a few lines could become more than fits into memory: as many bytes of JSON.
const MOST_COPIED: usize = 8 * 1024 * 1024;

const MERGE: &str = "<<";

/// Reads YAML documents without a line `---` between them.
pub struct Reader<'t> {
    parser: Parser<&'t [u8]>,
    /// The number of lines before the text.
    lines_before: usize,
    /// The position of the event that was read last.
    here: Mark,
    /// The JSON that was written.
    json: String,
    /// Whether there are positions: those of a large document would take more memory than itself.
    has_marks: bool,
    marks: Marks,
    /// The values that aliases stand for.
    anchors: HashMap<String, String>,
    levels: usize,
    /// The number of bytes that aliases have added.
    copied: usize,
}

/// A member of a mapping, and where its value stands in the JSON text.
struct Member {
    key: String,
    value: Range<usize>,
}

impl<'t> Reader<'t> {
    /// Reads a text before which there are so many lines in its file.
    pub fn new(text: &'t str, lines_before: usize, has_marks: bool) -> Self {
        let mut parser = Parser::new();
        parser.set_input(text.as_bytes());
        Self {
            parser,
            lines_before,
            here: Mark::default(),
            json: String::new(),
            has_marks,
            marks: Marks::default(),
            anchors: HashMap::new(),
            levels: 0,
            copied: 0,
        }
    }

    /// Reads the next document as JSON.
    ///
    /// # Errors
    /// It can't be read: where, and why.
    pub fn document(&mut self) -> Result<Option<(Box<RawValue>, Marks)>, SyntaxError> {
        self.anchors.clear();
        loop {
            match self.next()? {
                EventData::StreamEnd => return Ok(None),
                EventData::DocumentStart { .. } => break,
                _ => {}
            }
        }
        let first = self.next()?;
        self.add_value(first, "")?;
        // Aliases may add levels.
        let json = RawValue::from_string(mem::take(&mut self.json)).map_err(|_| self.too_deep())?;
        Ok(Some((json, mem::take(&mut self.marks))))
    }

    fn next(&mut self) -> Result<EventData, SyntaxError> {
        let Event { data, start_mark, .. } = self.parser.parse().map_err(|error| self.unreadable(&error))?;
        if data != EventData::StreamEnd {
            self.here = start_mark;
        }
        Ok(data)
    }

    fn unreadable(&self, error: &Error) -> SyntaxError {
        let position = self.position(error.problem_mark().unwrap_or(self.here));
        let began = error.context_mark().map(|mark| self.position(mark));
        SyntaxError { position, problem: in_words(error.problem(), began) }
    }

    fn position(&self, mark: Mark) -> Position {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Position { line: count(mark.line) + self.lines_before + 1, column: count(mark.column) + 1 }
    }

    fn mistake(&self, problem: impl Into<String>) -> SyntaxError {
        SyntaxError { position: self.position(self.here), problem: problem.into() }
    }

    fn too_deep(&self) -> SyntaxError {
        self.mistake(format!("nested deeper than {MOST_LEVELS} levels"))
    }

    fn add_value(&mut self, event: EventData, path: &str) -> Result<(), SyntaxError> {
        if self.has_marks {
            // A field stands where its key does.
            let here = self.position(self.here);
            self.marks.positions.entry(path.to_owned()).or_insert(here);
        }
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(self.too_deep());
        }
        let start = self.json.len();
        let anchor = match event {
            EventData::Alias { anchor } => {
                self.add_copy(&anchor)?;
                None
            }
            EventData::SequenceStart { anchor, .. } => {
                self.add_list(path)?;
                anchor
            }
            EventData::MappingStart { anchor, .. } => {
                self.add_object(path)?;
                anchor
            }
            EventData::Scalar { anchor, tag, value, style, .. } => {
                let scalar = self.scalar(tag.as_deref(), &value, style)?;
                if self.has_marks && scalar.is_boolean() && value.to_ascii_lowercase().parse().ok() != scalar.as_bool()
                {
                    self.marks.words.insert(path.to_owned(), value);
                }
                self.json += &scalar.to_string();
                anchor
            }
            event => return Err(self.mistake(format!("expected a value; found {event:?}"))),
        };
        self.levels -= 1;
        if let Some(anchor) = anchor {
            self.anchors.insert(anchor, self.json.get(start..).unwrap_or_default().to_owned());
        }
        Ok(())
    }

    fn scalar(&self, tag: Option<&str>, text: &str, style: ScalarStyle) -> Result<Value, SyntaxError> {
        let tagged = tag.and_then(|tag| scalar::tagged(tag, text));
        let untagged = || if style == ScalarStyle::Plain { scalar::plain(text) } else { Ok(text.into()) };
        tagged.unwrap_or_else(untagged).map_err(|problem| self.mistake(problem))
    }

    fn add_copy(&mut self, anchor: &str) -> Result<(), SyntaxError> {
        let Some(original) = self.anchors.get(anchor) else {
            return Err(self.mistake(format!("no anchor {anchor:?} stands before this alias")));
        };
        self.copied += original.len();
        if self.copied > MOST_COPIED {
            return Err(self.mistake(format!("aliases copy more than {MOST_COPIED} bytes")));
        }
        self.json += original;
        Ok(())
    }

    fn add_list(&mut self, path: &str) -> Result<(), SyntaxError> {
        self.json.push('[');
        for position in 0.. {
            let event = self.next()?;
            if event == EventData::SequenceEnd {
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
        let start = self.json.len();
        let (mut members, mut own_keys) = (vec![], BTreeSet::new());
        self.json.push('{');
        loop {
            let (tag, text, style) = match self.next()? {
                EventData::MappingEnd => break,
                EventData::Scalar { tag, value, style, .. } => (tag, value, style),
                _ => return Err(self.mistake("expected a key that is a text")),
            };
            if text == MERGE && style == ScalarStyle::Plain && tag.is_none() {
                self.merge(path, &mut members)?;
                continue;
            }
            let key = match self.scalar(tag.as_deref(), &text, style)? {
                Value::Null => return Err(self.mistake("expected a key that is a text; found nothing")),
                Value::String(key) => key,
                key => key.to_string(),
            };
            let path = format!("{path}.{key}");
            let position = self.position(self.here);
            if !own_keys.insert(key.clone()) {
                self.marks.repeated.push(RepeatedKey { position, path: path.trim_start_matches('.').to_owned() });
            }
            if self.has_marks {
                self.marks.positions.insert(path.clone(), position);
            }
            let value = self.next()?;
            let begin = self.begin_member(&key);
            self.add_value(value, &path)?;
            members.push(Member { key, value: begin..self.json.len() });
        }
        self.close(start, &members);
        Ok(())
    }

    /// Begins a member of a mapping, and returns where its value begins.
    fn begin_member(&mut self, key: &str) -> usize {
        if !self.json.ends_with('{') {
            self.json.push(',');
        }
        self.json += &format!("{}:", Value::from(key));
        self.json.len()
    }

    /// Adds the members of the mappings that `<<` names, where it stands. Of several the first wins.
    fn merge(&mut self, path: &str, members: &mut Vec<Member>) -> Result<(), SyntaxError> {
        type Mapping = BTreeMap<String, Box<RawValue>>;
        let start = self.json.len();
        let event = self.next()?;
        self.add_value(event, &format!("{path}.{MERGE}"))?;
        let value = self.json.split_off(start);
        let mappings: Result<Vec<Mapping>, _> =
            serde_json::from_str(&value).or_else(|_| serde_json::from_str(&value).map(|mapping| vec![mapping]));
        let mappings = mappings.map_err(|_| self.mistake("expected a mapping, or a list of mappings, behind <<"))?;
        for (key, value) in mappings.into_iter().rev().flatten() {
            let begin = self.begin_member(&key);
            self.json += value.get();
            members.push(Member { key, value: begin..self.json.len() });
        }
        Ok(())
    }

    /// Closes a mapping that began at `start`. Of members with the same key the last one stays.
    fn close(&mut self, start: usize, members: &[Member]) {
        let last: BTreeMap<&str, &Range<usize>> = members.iter().map(|own| (own.key.as_str(), &own.value)).collect();
        if last.len() < members.len() {
            let text = |range: &Range<usize>| self.json.get(range.clone()).unwrap_or_default();
            let texts = last.into_iter().map(|(key, value)| format!("{}:{}", Value::from(key), text(value)));
            let text = texts.collect::<Vec<_>>().join(",");
            self.json.truncate(start);
            self.json += &format!("{{{text}");
        }
        self.json.push('}');
    }
}

/// Returns a problem of the parser as what was expected and what to do; `began` is where it began what it could not end.
fn in_words(problem: &str, began: Option<Position>) -> String {
    let since = began.map(|Position { line, column }| format!(" of line {line}, column {column}")).unwrap_or_default();
    match problem {
        "did not find expected ',' or '}'" => format!("expected a comma or }}: close the brace{since}"),
        "did not find expected ',' or ']'" => format!("expected a comma or ]: close the bracket{since}"),
        "did not find expected key" | "did not find expected '-' indicator" => {
            format!("expected a line that begins in the same column as the one{since}: indent it so")
        }
        "mapping values are not allowed in this context" => {
            "expected no colon here: indent the line as the one above, or put the value in quotes".to_owned()
        }
        "did not find expected node content" => {
            "expected a value: write one, or close the bracket or quote that is open before it".to_owned()
        }
        "found unexpected end of stream" => format!("expected the quote that ends the text{since}: add it"),
        "found character that cannot start any token" => {
            "expected a value; found a character that can't begin one: put it in quotes, and indent with spaces"
                .to_owned()
        }
        "found a tab character that violates indentation"
        | "found a tab character where an indentation space is expected" => {
            "expected spaces; found a tab: indent with spaces".to_owned()
        }
        "did not find expected alphabetic or numeric character" => {
            "expected a name behind * or &: put a text that begins with one in quotes".to_owned()
        }
        "could not find expected ':'" => {
            format!("expected a colon behind the key{since}: add it, or put a text of several lines in quotes")
        }
        "block sequence entries are not allowed in this context" => {
            "expected a value: begin a list on a line of its own".to_owned()
        }
        "control characters are not allowed" => {
            "expected YAML or JSON; found control characters: unpack the file first if it is compressed".to_owned()
        }
        other => format!("expected YAML or JSON: {other}"),
    }
}
