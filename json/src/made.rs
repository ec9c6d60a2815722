//! Values that are made, not read.

use crate::list::List;
use crate::object::Object;
use crate::parts::Parts;
use crate::string::encode;
use crate::value::Value;

impl Value {
    /// The same value as if it had come as text, which all clones of it share.
    pub fn as_if_read(&self) -> Self {
        Self::from_text(self.to_string().into())
    }

    /// `null`
    pub fn null() -> Self {
        Self::from_text("null".into())
    }
}

impl From<&str> for Value {
    /// The string `text`.
    fn from(text: &str) -> Self {
        Self::from_text(encode(text).into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::from_text(if value { "true" } else { "false" }.into())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::from_text(number.to_string().into())
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::from_parts(object.came_as.clone(), Parts::Object(object))
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::from_parts(list.came_as().cloned(), Parts::List(list))
    }
}
