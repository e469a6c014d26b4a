//! Values that are words, and keys that are read elsewhere.

use super::{Field, quoted};
use crate::scenario::document::Value;
use crate::scenario::error::suggestion;
use clearway_proto::{Framing, ParamType, port::MarkAt};
use clearway_topology::routing::Policy;

/// A value that is one of a few words.
macro_rules! words {
    ($(#[$doc:meta])* $Words:ident { $($Variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $Words { $($Variant,)+ }

        impl Field for $Words {
            fn kind() -> String {
                [$(concat!("\"", $text, "\"")),+].join(" or ")
            }

            fn read(value: &Value) -> Result<$Words, String> {
                match value.text() {
                    $(Some($text) => Ok($Words::$Variant),)+
                    _ => {
                        let hint = suggestion(value.text().unwrap_or(""), [$($text),+]);
                        Err(format!("write {}{hint}", $Words::kind()))
                    }
                }
            }

            fn write(&self) -> Option<String> {
                Some(quoted(match self { $($Words::$Variant => $text,)+ }))
            }
        }
    };
}

words!(
    /// How paths are chosen.
    Routing { SymmetricEcmp = "symmetric-ecmp", Ecmp = "ecmp", Spray = "spray", Ns2Xpass = "ns2-xpass", }
);

impl Routing {
    pub fn policy(self) -> Policy {
        match self {
            Routing::SymmetricEcmp => Policy::SymmetricEcmp,
            Routing::Ecmp => Policy::Ecmp,
            Routing::Spray => Policy::Spray,
            Routing::Ns2Xpass => Policy::Ns2Xpass,
        }
    }
}

words!(
    /// What packets carry besides payload.
    FramingWord { Ethernet = "ethernet", Ns2 = "ns-2", }
);

impl FramingWord {
    /// The sizes that belong to it.
    pub fn framing(self) -> Framing {
        match self {
            FramingWord::Ethernet => Framing::ETHERNET,
            FramingWord::Ns2 => Framing::NS2,
        }
    }
}

words!(
    /// How the connections of transports that are compared start.
    Stacks { Own = "own", Equal = "equal", }
);

words!(
    /// How long connections of rounds last.
    Connections { Persistent = "persistent", PerRound = "per-round", }
);

words!(
    /// Which directions of a link.
    Direction { Both = "both", Forward = "forward", Backward = "backward", }
);

words!(
    /// What a series shows.
    What {
        Throughput = "throughput",
        Sender = "sender",
        Rtt = "rtt",
        Queue = "queue",
        CreditQueue = "credit-queue",
        Rate = "rate",
    }
);

words!(
    /// Format of a list of flows.
    ListFormat { Csv = "csv", Hpcc = "hpcc", }
);

impl Field for MarkAt {
    fn kind() -> String {
        "\"enqueue\" or \"dequeue\"".into()
    }

    fn read(value: &Value) -> Result<MarkAt, String> {
        <MarkAt as ParamType>::read(value.text().unwrap_or(""))
    }

    fn write(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

/// A key that is read elsewhere: declared for the documentation and the list of known keys.
macro_rules! elsewhere {
    ($($(#[$doc:meta])* $Type:ident = $kind:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $Type;

        impl Field for $Type {
            fn kind() -> String {
                $kind.into()
            }

            fn read(_: &Value) -> Result<$Type, String> {
                Ok($Type)
            }

            fn absent() -> Option<$Type> {
                Some($Type)
            }

            fn write(&self) -> Option<String> {
                None
            }
        }
    )+};
}
elsewhere!(
    /// The word that chooses the other keys.
    Kind = "word";
    /// A transport.
    TransportKey = "name, or table of name and parameters";
    /// Further tables.
    Tables = "list of tables";
);
