//! The declaration of a set of fields.

/// Declares a set of fields: a struct with public fields that implements [`Declared`](crate::Declared).
///
/// Each field has a documentation, a type, and a default as written in a scenario file; then, where they apply, `in`
/// its least `to` its largest value, the `unit` of a plain number, and `from` where the default comes. Instead of a
/// default stands `none` for a field that may be absent, such as an [`Option`].
///
/// ```
/// use clearway_schema::{Auto, Declared, declare};
/// use clearway_units::Span;
///
/// declare! {
///     /// Fields that several transports have.
///     pub struct Common {
///         /// How long a request may go unanswered.
///         retry: Auto<Span> = "auto" from "our choice";
///         /// Open a connection first.
///         handshake: bool = "false" from "our choice";
///     }
/// }
/// declare! {
///     /// Parameters of an example.
///     pub struct Params {
///         /// Share of the rate to start with.
///         alpha: f64 = "0.5" in "0.001" to "1" from "E17 3.3";
///         ..common: Common [handshake] { handshake = "true" from "E16 4" };
///     }
/// }
/// let mut params = Params::default();
/// params.set("alpha", "0.25").unwrap();
/// assert_eq!((params.alpha, params.common.handshake), (0.25, true));
/// assert!(params.set("alpha", "2").unwrap_err().to_string().contains("must be from 0.001 to 1"));
/// assert!(params.set("retry", "1 us").is_err(), "users do not see it");
/// ```
///
/// `..common: Common;` includes the fields of another set, at their place in the order that users see. A list in
/// brackets names those that users see, in their order; the others keep their defaults. Changes in braces replace the
/// default, the source or (by a comment) the documentation of a field.
///
/// A set declared as `table` in place of `struct` may have fields that are `required`, and so has no default as a
/// whole.
#[macro_export]
macro_rules! declare {
    (
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:ident),+)])?
        $vis:vis struct $Name:ident { $($body:tt)* }
    ) => {
        $crate::declare! {
            $(#[doc = $doc])+
            $(#[derive($($derive),+)])?
            $vis table $Name { $($body)* }
        }

        impl Default for $Name {
            fn default() -> $Name {
                <$Name as $crate::Declared>::read(&|_| None).expect("every field has a default")
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        $(#[derive($($derive:ident),+)])?
        $vis:vis table $Name:ident {
            $(
                $(#[doc = $field_doc:literal])+
                $field:ident : $Type:ty = $default:tt
                $(in $min:literal to $max:literal)? $(unit $unit:literal)? $(from $source:literal)?;
            )*
            $(
                ..$group:ident : $Group:ty $([$($shown:ident),+ $(,)?])? $({$(
                    $(#[doc = $new_doc:literal])*
                    $changed:ident $(= $new:literal)? $(from $new_source:literal)?
                ),+ $(,)?})?;
                $(
                    $(#[doc = $late_doc:literal])+
                    $late:ident : $Late:ty = $late_default:tt
                    $(in $late_min:literal to $late_max:literal)? $(unit $late_unit:literal)?
                    $(from $late_source:literal)?;
                )*
            )*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug $($(, $derive)+)?)]
        $vis struct $Name {
            $($(#[doc = $field_doc])+ pub $field: $Type,)*
            $(
                #[doc = concat!("The fields of [`", stringify!($Group), "`].")]
                pub $group: $Group,
                $($(#[doc = $late_doc])+ pub $late: $Late,)*
            )*
        }

        impl $crate::Declared for $Name {
            const DOC: &'static str = $crate::told(concat!($($doc),+));
            const PARTS: &'static [$crate::Part] = {
                static PARTS: &[$crate::Part] = &[
                    $crate::Part::Own(&[$($crate::Spec {
                        name: stringify!($field),
                        doc: $crate::told(concat!($($field_doc),+)),
                        kind: <$Type as $crate::Field>::kind,
                        forms: $crate::forms_of::<$Type>(),
                        default: $crate::declare!(@default $default),
                        min: concat!($($min)?),
                        max: concat!($($max)?),
                        unit: concat!($($unit)?),
                        source: $crate::told(concat!($($source)?)),
                    }),*]),
                    $(
                        $crate::Part::Group($crate::Group {
                            specs: <$Group as $crate::Declared>::SPECS,
                            shown: $crate::declare!(@shown $($($shown)+)?),
                            changes: &[$($($crate::Change {
                                name: stringify!($changed),
                                doc: $crate::told(concat!($($new_doc),*)),
                                default: concat!($($new)?),
                                source: $crate::told(concat!($($new_source)?)),
                            }),+)?],
                        }),
                        $crate::Part::Own(&[$($crate::Spec {
                            name: stringify!($late),
                            doc: $crate::told(concat!($($late_doc),+)),
                            kind: <$Late as $crate::Field>::kind,
                            forms: $crate::forms_of::<$Late>(),
                            default: $crate::declare!(@default $late_default),
                            min: concat!($($late_min)?),
                            max: concat!($($late_max)?),
                            unit: concat!($($late_unit)?),
                            source: $crate::told(concat!($($late_source)?)),
                        }),*]),
                    )*
                ];
                PARTS
            };
            // A static, since each crate that names a constant has a copy of it.
            const SPECS: &'static [$crate::Spec] = {
                static SPECS: [$crate::Spec; $crate::count(<$Name as $crate::Declared>::PARTS)] =
                    $crate::join(<$Name as $crate::Declared>::PARTS);
                &SPECS
            };

            fn blank() -> $Name {
                $Name {
                    $($field: <$Type as $crate::Field>::blank(),)*
                    $(
                        $group: <$Group as $crate::Declared>::blank(),
                        $($late: <$Late as $crate::Field>::blank(),)*
                    )*
                }
            }
        }

        impl $crate::Members for $Name {
            fn parts(&self) -> &'static [$crate::Part] {
                <$Name as $crate::Declared>::PARTS
            }

            fn members(&mut self) -> Vec<$crate::Member<'_>> {
                vec![
                    $($crate::Member::Field(&mut self.$field),)*
                    $(
                        $crate::Member::Group(&mut self.$group),
                        $($crate::Member::Field(&mut self.$late),)*
                    )*
                ]
            }
        }
    };
    (@default required) => { $crate::REQUIRED };
    (@default none) => { "" };
    (@default $default:literal) => { $default };
    (@shown) => { None };
    (@shown $($shown:ident)+) => { Some(&[$(stringify!($shown)),+]) };
}
