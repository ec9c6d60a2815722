use crate::kind::Kind;
use crate::list::List;
use crate::object::Object;
use crate::text::Text;

/// What a value is taken apart into.
#[derive(Clone, Debug)]
pub enum Parts {
    Object(Object),
    List(List),
}

impl Parts {
    /// What the value is.
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Object(_) => Kind::Object,
            Self::List(_) => Kind::List,
        }
    }

    /// Whether these are what was read from `text`, and nothing in them was changed.
    pub fn are_still(&self, text: &Text) -> bool {
        let unchanged = match self {
            Self::Object(object) => object.unchanged(),
            Self::List(list) => list.unchanged(),
        };
        // Whoever may edit an object can put another into its place, which was read elsewhere.
        unchanged.is_some_and(|own| own.is_same_part(text))
    }

    /// How long the JSON text is, in bytes.
    pub fn text_len(&self) -> usize {
        match self {
            Self::Object(object) => object.text_len(),
            Self::List(list) => list.text_len(),
        }
    }

    /// Appends the JSON text to `out`.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Object(object) => object.write(out),
            Self::List(list) => list.write(out),
        }
    }
}
