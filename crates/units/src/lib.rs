//! Time, rates and sizes of a network: exact integers, each quantity in a type of its own.
//!
//! | type | unit | range |
//! |---|---|---|
//! | [`Time`], [`Span`] | picosecond | 0 to 213 days |
//! | [`Rate`] | bit per second | 0 to 18 Ebit/s |
//! | [`Bytes`] | byte | 0 to 16 EiB |
//!
//! Only operators with a physical meaning exist: `Time - Time` is a [`Span`], and `Time + Time` does not compile.
//! Each type parses and prints the usual notation: `"10 Gbps"`, `"4 us"`, `"384.5 KB"`. Prefixes are decimal
//! (1 KB = 1000 B, as in the papers), except for the binary `KiB`, `MiB` and `GiB`.
//!
//! ```
//! use clearway_units::{Bytes, Rate, Span, Time};
//! let rate: Rate = "10 Gbps".parse().unwrap();
//! let frame = Bytes::new(1538);
//! assert_eq!(rate.time_to_send(frame), Span::from_ps(1_230_400));
//! assert_eq!(Time::ZERO + rate.time_to_send(frame), Time::from_ps(1_230_400));
//! ```
#![forbid(unsafe_code)]

mod bytes;
mod known;
mod nearest;
mod product;
mod rate;
mod text;
mod time;

pub use bytes::Bytes;
pub use known::{Bounded, Known};
pub use product::{product, wide_product};
pub use rate::Rate;
pub use text::UnitError;
pub use time::{Span, Time};
