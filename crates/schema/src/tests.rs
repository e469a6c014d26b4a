use crate::{Auto, Declared, Error, Spec, Value, choice, declare};
use clearway_units::{Bytes, Span};
use std::borrow::Cow;

choice! {
    /// A choice.
    pub enum Word {
        /// One.
        One = "one",
        /// Another.
        Another = "another",
    }
}

declare! {
    /// Common fields.
    #[derive(PartialEq)]
    pub struct Common {
        /// A time.
        retry: Auto<Span> = "auto" in "1 us" to "1 s" from "RFC 1";
        /// A word.
        word: Word = "one" from "RFC 2";
        /// A count.
        count: u32 = "8" in "1" to "100" unit "credits" from "RFC 3";
    }
}

declare! {
    /// All of them, with another default.
    pub struct All {
        /// Before the group.
        share: f64 = "0.5" in "0" to "1" from "our choice";
        ..common: Common { count = "16" from "E16" };
        /// After the group.
        size: Option<Bytes> = none in "1 B" to "1 MB";
    }
}

declare! {
    /// Some of them, in another order.
    pub struct Some_ {
        ..common: Common [count, retry] {
            word = "another",
            /// How many.
            count from "here",
        };
    }
}

declare! {
    /// A table.
    pub table Table {
        /// It must be there.
        name: String = required;
    }
}

fn names(specs: &[Spec]) -> Vec<&str> {
    specs.iter().map(|spec| spec.name).collect()
}

#[test]
fn fields_of_a_group_stand_where_it_is_included() {
    assert_eq!(names(All::SPECS), ["share", "retry", "word", "count", "size"]);
    assert_eq!(names(Some_::SPECS), ["count", "retry"]);
}

#[test]
fn an_include_changes_default_source_and_documentation_and_nothing_else() {
    let [count, other] = [All::SPECS[3], Common::SPECS[2]];
    assert_eq!((count.default, count.source, count.doc), ("16", "E16", other.doc));
    assert_eq!((count.min, count.max, count.unit), ("1", "100", "credits"));
    assert_eq!((All::default().common.count, Common::default().count), (16, 8));
    let count = Some_::SPECS[0];
    assert_eq!((count.default, count.source, count.doc.trim()), ("8", "here", "How many."));
}

#[test]
fn a_field_that_is_not_shown_has_the_default_of_the_include_and_cannot_be_set() {
    let mut some = Some_::default();
    assert_eq!(some.common.word, Word::Another);
    let error = some.set("word", "one").unwrap_err();
    assert_eq!(error, Error::Unknown { name: "word".into(), known: "count, retry".into() });
    some.set("retry", "5 us").unwrap();
    assert_eq!(some.common.retry, Auto::Set(Span::from_us(5)));
}

#[test]
fn limits_hold_for_fields_of_groups_and_not_for_auto() {
    let mut all = All::default();
    let error = all.set("count", "101").unwrap_err();
    assert_eq!(error.to_string(), "count = \"101\": must be from 1 to 100");
    assert!(all.set("retry", "2 s").is_err() && all.set("size", "2 MB").is_err());
    all.set("retry", "auto").unwrap();
    all.set("size", "1 MB").unwrap();
    assert_eq!((all.common.retry, all.size), (Auto::Auto, Some(Bytes::new(1_000_000))));
}

#[test]
fn what_is_written_reads_back_to_the_same() {
    let mut all = All::default();
    all.set("share", Value::Float(0.25)).unwrap();
    all.set("word", "another").unwrap();
    let written = all.write();
    let expected = [("share", "0.25"), ("retry", "\"auto\""), ("word", "\"another\""), ("count", "16")];
    assert_eq!(written, expected.map(|(name, value)| (name, value.to_owned())));
    let given = |name: &str| {
        let (_, value) = written.iter().find(|(key, _)| *key == name)?;
        Some(Cow::Owned(Value::from(value.trim_matches('"'))))
    };
    let again = All::read(&given).unwrap();
    assert_eq!((again.share, again.size, again.common), (all.share, all.size, all.common));
    let some = Some_::default().write();
    assert_eq!(some.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["count", "retry"]);
}

#[test]
fn a_required_field_is_missed_by_its_name_and_kind() {
    let error = Table::read(&|_| None).unwrap_err();
    assert_eq!(error.to_string(), "name: is missing; write text");
    assert_eq!(Table::read(&|_| Some(Cow::Owned("x".into()))).unwrap().name, "x");
}

#[test]
fn a_wrong_word_is_answered_with_the_right_ones() {
    let error = All::default().set("word", "anothr").unwrap_err();
    assert_eq!(error.problem(), "write \"one\" or \"another\"; did you mean \"another\"?");
}
