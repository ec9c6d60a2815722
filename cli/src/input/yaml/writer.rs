//! Writes YAML in which readers of YAML 1.1 take no text for something else.

use anyhow::{Context, Result};
use libyaml_safer::{Emitter, Event, EventData, MappingStyle, Parser, ScalarStyle, SequenceStyle};
use serde::Serialize;

use super::needs_quotes;

/// Writes data as YAML. Its members keep their order.
///
/// # Errors
/// It can't be written.
pub fn write(data: &impl Serialize) -> Result<String> {
    let json = serde_json::to_string(data)?;
    let mut parser = Parser::new();
    parser.set_input(json.as_bytes());
    let mut written = vec![];
    let mut emitter = Emitter::new();
    emitter.set_unicode(true);
    emitter.set_width(-1);
    emitter.set_output_string(&mut written);
    let mut next = parser.parse()?;
    loop {
        let event = next;
        let is_last = event.data == EventData::StreamEnd;
        next = if is_last { Event::stream_end() } else { parser.parse()? };
        emitter.emit(for_people(event, &next.data))?;
        if is_last {
            break;
        }
    }
    drop(emitter);
    String::from_utf8(written).context("YAML")
}

/// Returns an event of JSON as people write it in YAML: in blocks, and without quotes where they change nothing.
fn for_people(event: Event, next: &EventData) -> Event {
    match event.data {
        EventData::DocumentStart { .. } => Event::document_start(None, &[], true),
        EventData::DocumentEnd { .. } => Event::document_end(true),
        EventData::SequenceStart { .. } => {
            let is_empty = *next == EventData::SequenceEnd;
            let style = if is_empty { SequenceStyle::Flow } else { SequenceStyle::Block };
            Event::sequence_start(None, None, true, style)
        }
        EventData::MappingStart { .. } => {
            let is_empty = *next == EventData::MappingEnd;
            let style = if is_empty { MappingStyle::Flow } else { MappingStyle::Block };
            Event::mapping_start(None, None, true, style)
        }
        EventData::Scalar { value, style, .. } => {
            let style = match style {
                ScalarStyle::DoubleQuoted if value.contains('\n') => ScalarStyle::Literal,
                ScalarStyle::DoubleQuoted if needs_quotes(&value) => ScalarStyle::DoubleQuoted,
                _ => ScalarStyle::Plain,
            };
            Event::scalar(None, None, &value, true, true, style)
        }
        _ => event,
    }
}
