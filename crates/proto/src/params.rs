//! Parameters of a transport, declared once: the same lines give the struct, the parser of scenario files, the
//! limits, the defaults and the documentation.

use clearway_units::{Bytes, Rate, Span};
use std::fmt;
use thiserror::Error;

/// What is known of one parameter.
#[derive(Clone, Copy, Debug)]
pub struct ParamSpec {
    /// Its name, as in scenario files.
    pub name: &'static str,
    /// What it does.
    pub doc: &'static str,
    /// How a value is written: "number", "time", "rate", ...
    pub kind: &'static str,
    /// Default, as written in a scenario file.
    pub default: &'static str,
    /// Least value allowed, if there is one.
    pub min: &'static str,
    /// Largest value allowed, if there is one.
    pub max: &'static str,
    /// Where the default comes from: paper and section, RFC, or "our choice" with the reason in `doc`.
    pub source: &'static str,
}

/// A named set of parameter values, such as those of a reference implementation.
#[derive(Clone, Copy, Debug)]
pub struct Profile {
    /// Its name, given as `profile = "..."`.
    pub name: &'static str,
    /// Where it comes from and what it is for.
    pub doc: &'static str,
    /// The parameters that it sets, as written in a scenario file.
    pub values: &'static [(&'static str, &'static str)],
}

/// Why a parameter was refused. The message says what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParamError {
    /// There is no parameter of that name.
    #[error("has no parameter {name:?}; it has {known}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// All names that exist.
        known: String,
    },
    /// The value can't be read or is out of range.
    #[error("{name} = {value:?}: {problem}")]
    Value {
        /// The parameter.
        name: &'static str,
        /// The value that was given.
        value: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
}

/// A type that a parameter can have.
pub trait ParamType: Sized + PartialOrd + fmt::Display {
    /// How a value is written, in a word or two.
    const KIND: &'static str;
    /// Reads a value; the error says what would be right.
    fn read(text: &str) -> Result<Self, String>;
}

/// A value that may be left to the transport: written `"auto"`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Auto<T> {
    /// The transport chooses; the parameter's documentation says how.
    Auto,
    /// This value.
    Set(T),
}

impl<T: Copy> Auto<T> {
    /// The value, or `default` where the transport chooses.
    pub fn or(self, default: T) -> T {
        match self {
            Auto::Auto => default,
            Auto::Set(value) => value,
        }
    }

    /// The value, if one was set.
    pub fn set(self) -> Option<T> {
        match self {
            Auto::Auto => None,
            Auto::Set(value) => Some(value),
        }
    }
}

/// `auto` is neither above nor below any value: limits hold for values alone.
impl<T: PartialOrd> PartialOrd for Auto<T> {
    fn partial_cmp(&self, other: &Auto<T>) -> Option<std::cmp::Ordering> {
        match (self, other) {
            (Auto::Auto, Auto::Auto) => Some(std::cmp::Ordering::Equal),
            (Auto::Set(own), Auto::Set(others)) => own.partial_cmp(others),
            _ => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Auto<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Auto::Auto => f.write_str("auto"),
            Auto::Set(value) => value.fmt(f),
        }
    }
}

impl ParamType for f64 {
    const KIND: &'static str = "number";
    fn read(text: &str) -> Result<f64, String> {
        text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or("write a number, such as 0.5".into())
    }
}

impl ParamType for u32 {
    const KIND: &'static str = "integer";
    fn read(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| "write a whole number, such as 3".into())
    }
}

impl ParamType for bool {
    const KIND: &'static str = "true or false";
    fn read(text: &str) -> Result<bool, String> {
        text.parse().map_err(|_| "write true or false".into())
    }
}

macro_rules! unit_param {
    ($($unit:ident $kind:literal $auto:literal),+) => {$(
        impl ParamType for $unit {
            const KIND: &'static str = $kind;
            fn read(text: &str) -> Result<$unit, String> {
                text.parse().map_err(|error: clearway_units::UnitError| error.to_string())
            }
        }
        impl ParamType for Auto<$unit> {
            const KIND: &'static str = $auto;
            fn read(text: &str) -> Result<Auto<$unit>, String> {
                if text == "auto" { Ok(Auto::Auto) } else { $unit::read(text).map(Auto::Set) }
            }
        }
    )+};
}
unit_param!(Span "time" "time or \"auto\"", Rate "rate" "rate or \"auto\"", Bytes "size" "size or \"auto\"");

impl ParamType for Auto<f64> {
    const KIND: &'static str = "number or \"auto\"";
    fn read(text: &str) -> Result<Auto<f64>, String> {
        if text == "auto" { Ok(Auto::Auto) } else { f64::read(text).map(Auto::Set) }
    }
}

/// A set of parameters, as the registry handles it. [`params!`](crate::params!) implements it.
pub trait ParamSet: Clone + Default + fmt::Debug {
    /// What is known of each parameter, in order of declaration.
    const SPECS: &'static [ParamSpec];
    /// Sets one parameter from its text.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParamError>;
    /// All parameters with their values, as they would be written.
    fn values(&self) -> Vec<(&'static str, String)>;
}

/// Reads `text` for the parameter `spec` and holds it against the limits.
pub fn read_param<T: ParamType>(spec: &'static ParamSpec, text: &str) -> Result<T, ParamError> {
    let fail = |problem| ParamError::Value { name: spec.name, value: text.into(), problem };
    let value = T::read(text).map_err(fail)?;
    let limit =
        |text: &str| (!text.is_empty()).then(|| T::read(text).expect("limits in the source are valid"));
    let too_small = limit(spec.min).is_some_and(|min| value < min);
    let too_large = limit(spec.max).is_some_and(|max| value > max);
    if too_small || too_large {
        let problem = match (spec.min, spec.max) {
            (min, "") => format!("must be at least {min}"),
            ("", max) => format!("must be at most {max}"),
            (min, max) => format!("must be from {min} to {max}"),
        };
        return Err(fail(problem));
    }
    Ok(value)
}

/// Declares the parameters of a transport. Defaults and limits are written as in a scenario file.
///
/// ```
/// clearway_proto::params! {
///     /// Parameters of an example.
///     pub struct Params {
///         /// Share of the rate to start with.
///         alpha: f64 = "0.5", "0.001" to "1", "E17 3.3";
///         /// Answer at once.
///         eager: bool = "true", "" to "", "our choice";
///     }
/// }
/// use clearway_proto::ParamSet;
/// let mut params = Params::default();
/// params.set("alpha", "0.25").unwrap();
/// assert_eq!(params.alpha, 0.25);
/// assert!(params.set("alpha", "2").unwrap_err().to_string().contains("must be from 0.001 to 1"));
/// ```
#[macro_export]
macro_rules! params {
    (
        $(#[$struct_doc:meta])*
        pub struct $Params:ident {$(
            $(#[doc = $doc:literal])+
            $name:ident : $ty:ty = $default:literal, $min:literal to $max:literal, $source:literal;
        )*}
    ) => {
        $(#[$struct_doc])*
        #[derive(Clone, Debug)]
        pub struct $Params {$(
            $(#[doc = $doc])+
            pub $name: $ty,
        )*}

        // The allowances are for a transport without parameters.
        #[allow(unused_mut, unused_variables)]
        impl Default for $Params {
            fn default() -> $Params {
                let mut specs = <$Params as $crate::ParamSet>::SPECS.iter();
                let mut next = || specs.next().expect("one specification a parameter");
                $Params {$($name: {
                    let spec = next();
                    $crate::read_param::<$ty>(spec, spec.default).expect("defaults in the source are valid")
                },)*}
            }
        }

        #[allow(unused_variables, unreachable_code)]
        impl $crate::ParamSet for $Params {
            const SPECS: &'static [$crate::ParamSpec] = &[$($crate::ParamSpec {
                name: stringify!($name),
                doc: concat!($($doc),+),
                kind: <$ty as $crate::ParamType>::KIND,
                default: $default,
                min: $min,
                max: $max,
                source: $source,
            },)*];

            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::ParamError> {
                let spec = Self::SPECS.iter().find(|spec| spec.name == name);
                match (name, spec) {
                    $((stringify!($name), Some(spec)) => self.$name = $crate::read_param(spec, value)?,)*
                    _ => return Err($crate::ParamError::Unknown {
                        name: name.into(),
                        known: Self::SPECS.iter().map(|spec| spec.name).collect::<Vec<_>>().join(", "),
                    }),
                }
                Ok(())
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($name), self.$name.to_string()),)*]
            }
        }
    };
}

/// Declares a parameter type that is one of a few words.
///
/// ```
/// clearway_proto::choice! {
///     /// When a switch marks.
///     pub enum MarkAt {
///         /// As the packet joins the queue.
///         Enqueue = "enqueue",
///         /// As the packet leaves it.
///         Dequeue = "dequeue",
///     }
/// }
/// use clearway_proto::ParamType;
/// assert_eq!(MarkAt::read("dequeue"), Ok(MarkAt::Dequeue));
/// assert_eq!(MarkAt::read("later").unwrap_err(), "write \"enqueue\" or \"dequeue\"");
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$enum_doc:meta])*
        pub enum $Choice:ident {$(
            $(#[$doc:meta])*
            $Variant:ident = $text:literal,
        )+}
    ) => {
        $(#[$enum_doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Debug)]
        pub enum $Choice {$($(#[$doc])* $Variant,)+}

        impl std::fmt::Display for $Choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($Choice::$Variant => $text,)+ })
            }
        }

        impl $crate::ParamType for $Choice {
            const KIND: &'static str = concat!("one of", $(" \"", $text, "\""),+);
            fn read(text: &str) -> Result<$Choice, String> {
                match text {
                    $($text => Ok($Choice::$Variant),)+
                    _ => {
                        let words = [$(concat!("\"", $text, "\"")),+];
                        Err(format!("write {}", words.join(" or ")))
                    }
                }
            }
        }
    };
}
