//! The forms in which a value may be written, for programs that check or complete scenario files before Clearway does.

/// A form in which a value may be written. A field has one or several.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Form {
    /// A text of a number and one of these units.
    Quantity(Vec<&'static str>),
    /// A text of a whole number above 0 and one of these words, such as `"250 packets"`.
    Counted(&'static [&'static str]),
    /// A whole number from 0 to this one.
    Integer(u64),
    /// A number with or without a fraction.
    Number,
    /// `true` or `false`.
    Truth,
    /// A text that is not empty.
    Text,
    /// This very text.
    Word(&'static str),
    /// The name of an entry, which has no dot in it and is no number.
    Name,
    /// A list of any length, whose entries each have one of these forms.
    List(Vec<Form>),
    /// A list of as many entries as there are elements here, each of which holds the forms of one entry.
    Row(Vec<Vec<Form>>),
    /// A table of these keys.
    Table(Vec<TableKey>),
    /// A value that other code reads: `"kind"`, `"transport"` or `"tables"`.
    Elsewhere(&'static str),
}

/// A key of a table that is a value itself, such as `share` of `{ share = 0.5, from = 0 }`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TableKey {
    /// The key.
    pub name: &'static str,
    /// The forms of the value.
    pub forms: Vec<Form>,
    /// True if the table must have the key.
    pub required: bool,
}

impl Form {
    /// One form for each word.
    pub fn words(words: &[&'static str]) -> Vec<Form> {
        words.iter().copied().map(Form::Word).collect()
    }
}
