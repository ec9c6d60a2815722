/// What of a value is taken apart while its text is read, since it will surely be looked at.
///
/// An outline is no demand: where the text has something of another kind, that is not taken apart.
#[derive(Debug)]
pub enum Outline {
    /// Nothing.
    Whole,
    /// An object, into its members; and of these those that are named here, in their turn.
    Object(&'static [(&'static str, Outline)]),
    /// A list, into its elements; and each of these in its turn.
    List(&'static Outline),
    /// A list, into its elements, which stay whole; and what each of them has under this key, for [`List::by`].
    ///
    /// [`List::by`]: crate::List::by
    ListBy(&'static str),
}

impl Outline {
    /// An object, into its members, and nothing in them.
    pub const FLAT: Self = Self::Object(&[]);

    /// A list, into its elements; and those of these that are objects, into their members.
    pub const OBJECTS: Self = Self::List(&Self::FLAT);
}
