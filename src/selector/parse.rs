//! Reads the label-selector language exactly as `labels.Parse` does.
//!
//! ```text
//! selector    = [ requirement *( "," requirement ) ]
//! requirement = key / "!" key / key operator value / key ( "in" / "notin" ) "(" values ")"
//! operator    = "=" / "==" / "!=" / ">" / "<"
//! ```

use super::lexer::{self, Token, Word};
use super::requirement::Invalid;
use super::{Operator, ParseError, Requirement, Selector, syntax};

/// Parses `text`. An empty text selects every node.
///
/// # Errors
/// What was found where, and what was expected.
///
/// Upstream: `labels.Parse`, with its oddities: `k in ()` and `k=` mean the empty value, `in` and `notin` may be
/// keys and values, spaces are only space, tab, CR and LF.
pub fn parse(text: &str) -> Result<Selector, ParseError> {
    let mut parser = Parser { text, at: 0 };
    let mut requirements = Vec::new();
    if parser.peek().token == Token::End {
        return Ok(Selector::default());
    }
    loop {
        requirements.push(parser.requirement()?);
        let word = parser.take();
        match word.token {
            Token::End => return Ok(Selector::new(requirements)),
            Token::Comma => {}
            _ => return Err(word.unexpected("',' or the end")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    /// The next word, which stays the next. Its `in` and `notin` are words like any other.
    fn peek(&self) -> Word<'a> {
        lexer::next(self.text, self.at).0.as_value()
    }

    fn take(&mut self) -> Word<'a> {
        self.take_keyword().as_value()
    }

    /// The next word, of which `in` and `notin` are operators.
    fn take_keyword(&mut self) -> Word<'a> {
        let (word, after) = lexer::next(self.text, self.at);
        self.at = after;
        word
    }

    fn requirement(&mut self) -> Result<Requirement, ParseError> {
        let mut key = self.take();
        let negated = key.token == Token::Not;
        if negated {
            key = self.take();
        }
        if key.token != Token::Identifier {
            return Err(key.unexpected(if negated { "a key" } else { "a key or '!'" }));
        }
        syntax::label_key(key.text).map_err(|expected| ParseError::key(key.at, key.text, expected))?;
        if negated {
            return build(key, key, Operator::DoesNotExist, Vec::new());
        }
        if matches!(self.peek().token, Token::End | Token::Comma) {
            return build(key, key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let first = self.peek();
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.value()?],
        };
        build(key, first, operator, values)
    }

    fn operator(&mut self) -> Result<Operator, ParseError> {
        let word = self.take_keyword();
        match word.token {
            Token::In => Ok(Operator::In),
            Token::NotIn => Ok(Operator::NotIn),
            Token::Equals => Ok(Operator::Equals),
            Token::DoubleEquals => Ok(Operator::DoubleEquals),
            Token::NotEquals => Ok(Operator::NotEquals),
            Token::Greater => Ok(Operator::GreaterThan),
            Token::Less => Ok(Operator::LessThan),
            _ => Err(word.unexpected("an operator: =, ==, !=, in, notin, > or <")),
        }
    }

    /// One value; nothing, before a comma or the end, is the empty value.
    fn value(&mut self) -> Result<String, ParseError> {
        if matches!(self.peek().token, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        let word = self.take();
        match word.token {
            Token::Identifier => Ok(word.text.to_owned()),
            _ => Err(word.unexpected("a value")),
        }
    }

    /// A list in parentheses. Nothing between two of its commas, or beside one at its ends, is the empty value.
    fn values(&mut self) -> Result<Vec<String>, ParseError> {
        let open = self.take();
        if open.token != Token::Open {
            return Err(open.unexpected("'('"));
        }
        let mut values = Vec::new();
        loop {
            let mut value = "";
            let mut word = self.take();
            if word.token == Token::Identifier {
                value = word.text;
                word = self.take();
            }
            values.push(value.to_owned());
            match word.token {
                Token::Comma => {}
                Token::Close => return Ok(values),
                _ => return Err(word.unexpected("',' or ')'")),
            }
        }
    }
}

fn build(key: Word<'_>, first: Word<'_>, operator: Operator, values: Vec<String>) -> Result<Requirement, ParseError> {
    Requirement::new(key.text.to_owned(), operator, values).map_err(|invalid| match invalid {
        Invalid::Key(expected) => ParseError::key(key.at, key.text, expected),
        Invalid::Value(value, expected) => ParseError::value(first.at, &value, expected),
        Invalid::Count(expected) => ParseError::unexpected(first.at, first.text, expected),
    })
}

impl Word<'_> {
    fn as_value(mut self) -> Self {
        if matches!(self.token, Token::In | Token::NotIn) {
            self.token = Token::Identifier;
        }
        self
    }

    fn unexpected(self, expected: &'static str) -> ParseError {
        ParseError::unexpected(self.at, self.text, expected)
    }
}
