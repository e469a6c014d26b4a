//! Values that are words, and keys that are read elsewhere.

use clearway_proto::Framing;
use clearway_schema::{Field, Value, choice};
use clearway_topology::routing::Policy;

choice! {
    /// How paths are chosen.
    pub enum Routing {
        SymmetricEcmp = "symmetric-ecmp",
        Ecmp = "ecmp",
        Spray = "spray",
        Ns2Xpass = "ns2-xpass",
    }
}

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

choice! {
    /// What packets carry besides payload.
    pub enum FramingWord {
        Ethernet = "ethernet",
        Ns2 = "ns-2",
    }
}

impl FramingWord {
    /// The sizes that belong to it.
    pub fn framing(self) -> Framing {
        match self {
            FramingWord::Ethernet => Framing::ETHERNET,
            FramingWord::Ns2 => Framing::NS2,
        }
    }
}

choice! {
    /// How the connections of transports that are compared start.
    pub enum Stacks {
        Own = "own",
        Equal = "equal",
    }
}

choice! {
    /// How long connections of rounds last.
    pub enum Connections {
        Persistent = "persistent",
        PerRound = "per-round",
    }
}

choice! {
    /// Which directions of a link.
    pub enum Direction {
        Both = "both",
        Forward = "forward",
        Backward = "backward",
    }
}

choice! {
    /// What a series shows.
    pub enum What {
        Throughput = "throughput",
        Sender = "sender",
        Rtt = "rtt",
        Queue = "queue",
        CreditQueue = "credit-queue",
        Rate = "rate",
    }
}

choice! {
    /// Format of a list of flows.
    pub enum ListFormat {
        Csv = "csv",
        Hpcc = "hpcc",
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
