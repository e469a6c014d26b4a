//! Headers on the wire: TCP segments of the kernel, and control frames of our own
//! (`docs/reference/wire-format.md`).
//!
//! Nothing here allocates, and no input can make it panic.

mod carrier;
mod checksum;
mod control;
mod datagram;
mod flow;
mod segment;
mod stamp;

pub use carrier::{Carrier, DATAGRAM_LEN};
pub(crate) use checksum::complete_tcp;
pub(crate) use control::frame_len;
pub use control::{Control, ControlError, ETHERTYPE, Kind, VERSION, VERSION_IPV6};
pub use datagram::{CREDIT_DSCP, SIGNAL_DSCP};
pub use flow::{FlowKey, MacAddr};
pub use segment::{Dscp, Ecn, SCHEDULED, Segment, SegmentError, TcpFlags, Timestamps};
