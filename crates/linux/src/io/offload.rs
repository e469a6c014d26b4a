//! The offloads of a NIC that hide packets from a datapath.

use std::fmt;

/// Work that a NIC, or the kernel on its behalf, does on several packets at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offload {
    /// TCP segmentation offload: one packet of up to 64 KiB is cut by the NIC.
    Tso,
    /// Generic segmentation offload: the same, cut by the kernel just before the NIC.
    Gso,
    /// Generic receive offload: arriving packets are joined by the kernel.
    Gro,
    /// Large receive offload: arriving packets are joined by the NIC.
    Lro,
}

impl Offload {
    /// All offloads.
    pub const ALL: [Offload; 4] = [Offload::Tso, Offload::Gso, Offload::Gro, Offload::Lro];

    /// Returns the name by which `ethtool -K` switches the offload.
    pub const fn name(self) -> &'static str {
        match self {
            Offload::Tso => "tso",
            Offload::Gso => "gso",
            Offload::Gro => "gro",
            Offload::Lro => "lro",
        }
    }

    /// Returns what goes wrong with the offload on, as the end of a sentence.
    pub const fn harm(self) -> &'static str {
        match self {
            Offload::Tso | Offload::Gso => {
                "packets of connections without credits leave as bursts of up to 64 KiB, and queues of traffic \
                 control on virtual links pass them whole"
            }
            Offload::Gro | Offload::Lro => {
                "arriving packets are joined before they can be counted, so numbers of credits and marks are lost"
            }
        }
    }
}

impl fmt::Display for Offload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
