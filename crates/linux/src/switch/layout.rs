//! The numbers by which a port's qdiscs, classes and filters are known to the kernel.

/// The handle of the qdisc of data that waits. The program `bpf/ecn.bpf.c` finds the queue by it.
pub(super) const DATA_HANDLE: u32 = 0x0020_0000;
/// The handle of the qdisc of credits that wait.
pub(super) const CREDIT_HANDLE: u32 = 0x0010_0000;
/// The handle of the qdisc of signals that wait.
pub(super) const SIGNAL_HANDLE: u32 = 0x0018_0000;
/// The id of the class of the whole link.
pub(super) const LINK_CLASS: u32 = 0x0001_0001;
/// The id of the class of credits.
pub(super) const CREDIT_CLASS: u32 = 0x0001_0010;
/// The id of the class of signals: control frames other than credits.
pub(super) const SIGNAL_CLASS: u32 = 0x0001_0018;
/// The id of the class of data.
pub(super) const DATA_CLASS: u32 = 0x0001_0020;
/// The place of the kind of a control frame, behind the Ethernet header.
pub(super) const KIND_AT: i32 = 1;
/// The places of the kind in UDP datagrams, behind the Ethernet header, over IPv4 and IPv6: behind headers of 28 and 48 bytes, and
/// the version.
pub(super) const UDP_KIND_AT: [i32; 2] = [29, 49];
/// The preferences of the filters of credits in UDP datagrams, over IPv4 and IPv6. That of signals follows each.
pub(super) const UDP_PREFERENCES: [u16; 2] = [5, 7];
/// The preference of the marking program among the filters at a port's egress, which no other program uses by chance.
pub(super) const FILTER_PREFERENCE: u16 = 0xc1ea;
/// The threshold that stands for no threshold: the program only counts.
pub(super) const NO_MARKS: u16 = 0xffff;
/// The place of filters at the egress of clsact.
pub(super) const EGRESS: u32 = 0xffff_fff3;
