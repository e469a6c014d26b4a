//! Values that are one of a few words, and keys that other code reads.

use clearway_proto::Framing;
use clearway_schema::{Field, Form, Value, choice};
use clearway_topology::routing::Policy;

choice! {
    /// The rule that chooses paths.
    pub enum Routing {
        SymmetricEcmp = "symmetric-ecmp",
        Ecmp = "ecmp",
        Spray = "spray",
        Entropy = "entropy",
        Source = "source",
        Adaptive = "adaptive",
        Ns2Xpass = "ns2-xpass",
    }
}

impl Routing {
    pub fn policy(self) -> Policy {
        match self {
            Routing::SymmetricEcmp => Policy::SymmetricEcmp,
            Routing::Ecmp => Policy::Ecmp,
            Routing::Spray => Policy::Spray,
            Routing::Entropy => Policy::Entropy,
            Routing::Source => Policy::Source,
            Routing::Adaptive => Policy::Adaptive,
            Routing::Ns2Xpass => Policy::Ns2Xpass,
        }
    }
}

choice! {
    /// The bytes that packets carry besides payload.
    pub enum FramingWord {
        Ethernet = "ethernet",
        Ns2 = "ns-2",
    }
}

impl FramingWord {
    /// Returns the sizes of frames.
    pub fn framing(self) -> Framing {
        match self {
            FramingWord::Ethernet => Framing::ETHERNET,
            FramingWord::Ns2 => Framing::NS2,
        }
    }
}

choice! {
    /// The way in which connections start where transports are compared.
    pub enum Stacks {
        Own = "own",
        Equal = "equal",
    }
}

choice! {
    /// The lifetime of connections in patterns of rounds.
    pub enum Connections {
        Persistent = "persistent",
        PerRound = "per-round",
    }
}

choice! {
    /// The links that the load of Poisson traffic is about.
    pub enum LoadOf {
        Bottleneck = "bottleneck",
        Uplinks = "uplinks",
        Hosts = "hosts",
        Ns2 = "ns2",
    }
}

choice! {
    /// The directions of a link.
    pub enum Direction {
        Both = "both",
        Forward = "forward",
        Backward = "backward",
    }
}

choice! {
    /// What becomes of the queues at a link that a fault makes slower.
    pub enum QueuesWord {
        Kept = "kept",
        Scaled = "scaled",
    }
}

choice! {
    /// The quantity that a series shows.
    pub enum ProbeWord {
        Throughput = "throughput",
        Sender = "sender",
        Rtt = "rtt",
        Queue = "queue",
        CreditQueue = "credit-queue",
        Rate = "rate",
        Window = "window",
        SendingRate = "sending-rate",
        CreditRate = "credit-rate",
        Losses = "losses",
        Notices = "notices",
        Drops = "drops",
        Marks = "marks",
        Trims = "trims",
        CreditDrops = "credit-drops",
        Pauses = "pauses",
    }
}

/// Declares the type of a key that other code reads. The key is declared for the documentation and the list of known
/// keys.
macro_rules! elsewhere {
    ($($(#[$doc:meta])* $Type:ident $form:literal = $kind:literal;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $Type;

        impl Field for $Type {
            fn kind() -> String {
                $kind.into()
            }

            fn forms() -> Vec<Form> {
                vec![Form::Elsewhere($form)]
            }

            fn blank() -> $Type {
                $Type
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
    Kind "kind" = "word";
    /// A transport, by name or as a table.
    TransportKey "transport" = "name, or table of name and parameters";
    /// A list of tables.
    Tables "tables" = "list of tables";
);
