//! Types whose values are one of a few words.

/// Declares a field type that is one of a few words.
///
/// ```
/// clearway_schema::choice! {
///     /// When a switch marks.
///     pub enum MarkAt {
///         /// As the packet joins the queue.
///         Enqueue = "enqueue",
///         /// As the packet leaves it.
///         Dequeue = "dequeue",
///     }
/// }
/// use clearway_schema::Field;
/// assert_eq!(MarkAt::read(&"dequeue".into()), Ok(MarkAt::Dequeue));
/// assert_eq!(MarkAt::read(&"now".into()).unwrap_err(), "write \"enqueue\" or \"dequeue\"");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$enum_doc:meta])*
        $vis:vis enum $Choice:ident {$(
            $(#[$doc:meta])*
            $Variant:ident = $text:literal,
        )+}
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $Choice {$($(#[$doc])* $Variant,)+}

        impl std::fmt::Display for $Choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($Choice::$Variant => $text,)+ })
            }
        }

        impl $crate::Field for $Choice {
            fn kind() -> String {
                [$(concat!("\"", $text, "\"")),+].join(" or ")
            }

            fn forms() -> Vec<$crate::Form> {
                $crate::Form::words(&[$($text),+])
            }

            fn blank() -> $Choice {
                [$($Choice::$Variant),+][0]
            }

            fn read(value: &$crate::Value) -> Result<$Choice, String> {
                match value.text() {
                    $(Some($text) => Ok($Choice::$Variant),)+
                    word => {
                        let hint = $crate::suggestion(word.unwrap_or(""), [$($text),+]);
                        Err(format!("write {}{hint}", <$Choice as $crate::Field>::kind()))
                    }
                }
            }

            fn write(&self) -> Option<String> {
                Some($crate::quoted(&self.to_string()))
            }
        }
    };
}
