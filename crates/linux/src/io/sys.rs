//! The calls of the kernel for which no safe wrapper exists, each in a small function.

use super::filter::Instruction;
use clearway_schema::choice;
use nix::errno::Errno;
use std::ffi::{c_int, c_void};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets an option of a socket to a plain number or structure.
pub(super) fn set_option<T: Copy>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: &T,
) -> Result<(), Errno> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`, which outlives the call; the kernel only reads it.
    #[allow(unsafe_code)] // nix has none of the options that we set.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(value).cast::<c_void>(), len)
    };
    Errno::result(result).map(drop)
}

/// Lets a packet socket send past the queueing disciplines of the NIC.
pub(super) fn bypass_qdisc(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    set_option(socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32)
}

/// Lets a packet socket receive frames for all addresses, as long as it is open.
pub(super) fn promiscuous(socket: BorrowedFd<'_>, index: u32) -> Result<(), Errno> {
    let all = libc::packet_mreq {
        mr_ifindex: index as c_int,
        mr_type: libc::PACKET_MR_PROMISC as u16,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set_option(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &all)
}

/// Keeps a packet socket from seeing what this machine sends.
pub(super) fn ignore_outgoing(socket: BorrowedFd<'_>) -> Result<(), Errno> {
    /// The name of the option, which libc lacks.
    const PACKET_IGNORE_OUTGOING: c_int = 23;
    set_option(socket, libc::SOL_PACKET, PACKET_IGNORE_OUTGOING, &1i32)
}

/// Attaches a program that chooses the packets of a socket.
pub(super) fn attach_filter(socket: BorrowedFd<'_>, program: &[Instruction]) -> Result<(), Errno> {
    // The layout of `Instruction` is that of `sock_filter`; the kernel copies the program and does not write to it.
    let filter = program.as_ptr().cast_mut().cast::<libc::sock_filter>();
    let program = libc::sock_fprog { len: program.len() as u16, filter };
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
}

/// Has a loaded program choose the packets of a socket.
pub(super) fn attach_program(socket: BorrowedFd<'_>, program: BorrowedFd<'_>) -> Result<(), Errno> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_ATTACH_BPF, &program.as_raw_fd())
}

/// Binds a packet socket to the packets of one EtherType on one NIC.
pub(super) fn bind_packet(socket: BorrowedFd<'_>, index: u32, ethertype: u16) -> Result<(), Errno> {
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ethertype.to_be(),
        sll_ifindex: index as c_int,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `address`, which outlives the call.
    #[allow(unsafe_code)] // nix can receive an address of a packet socket, but can't make one.
    let result = unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) };
    Errno::result(result).map(drop)
}

/// Buffers for packets that are received in one call, with the direction of each.
pub(super) struct Batch {
    bytes: Vec<u8>,
    slot: usize,
    filled: Vec<(usize, u8)>,
    addresses: Vec<libc::sockaddr_ll>,
    vectors: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    /// The number of headers, from the first, that the kernel may have written to since they were filled.
    written: usize,
}

impl Batch {
    /// Makes room for `count` packets of up to `slot` bytes.
    pub fn new(count: usize, slot: usize) -> Batch {
        // SAFETY: all three are plain structures of C for which zeroes are valid.
        #[allow(unsafe_code)] // `msghdr` has private padding, so no literal can make it.
        let (address, vector, header) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed()) };
        Batch {
            bytes: vec![0; count * slot],
            slot,
            filled: Vec::with_capacity(count),
            addresses: vec![address; count],
            vectors: vec![vector; count],
            headers: vec![header; count],
            written: count,
        }
    }

    /// Receives what has arrived, without waiting, until the room is full. Returns the number of packets.
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> Result<usize, Errno> {
        self.filled.clear();
        let parts = self.bytes.chunks_exact_mut(self.slot).zip(&mut self.vectors);
        let parts = parts.zip(&mut self.addresses).zip(&mut self.headers);
        for (((bytes, vector), address), header) in parts.take(self.written) {
            vector.iov_base = bytes.as_mut_ptr().cast();
            vector.iov_len = bytes.len();
            header.msg_hdr.msg_name = std::ptr::from_mut(address).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            header.msg_hdr.msg_iov = std::ptr::from_mut(vector);
            header.msg_hdr.msg_iovlen = 1;
            header.msg_len = 0;
        }
        let count = self.headers.len() as u32;
        // SAFETY: each of the `count` headers was filled, above or by an earlier call, with pointers into vectors of `self`,
        // which live, never grow, and do not move, and with the lengths of what they point to. The kernel writes to
        // headers that it returns, and to the next one if it fails there; those are filled anew.
        #[allow(unsafe_code)] // nix's recvmmsg allocates for every packet.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_raw_fd(),
                self.headers.as_mut_ptr(),
                count,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        self.written = usize::try_from(received).map_or(1, |received| (received + 1).min(self.headers.len()));
        let received = Errno::result(received)? as usize;
        for (header, address) in self.headers[..received].iter().zip(&self.addresses) {
            self.filled.push(((header.msg_len as usize).min(self.slot), address.sll_pkttype));
        }
        Ok(received)
    }

    /// Returns the packets that were received last, each with its type (`PACKET_OUTGOING`, ...) if it came from a
    /// packet socket.
    pub fn packets(&self) -> impl Iterator<Item = (&[u8], u8)> {
        self.bytes
            .chunks_exact(self.slot)
            .zip(&self.filled)
            .map(|(bytes, (len, kind))| (&bytes[..*len], *kind))
    }
}

/// The frames that [`send_frames`] sends at most.
pub(super) const AT_ONCE: usize = 64;

/// Sends the first frames in one call, [`AT_ONCE`] at most. Returns the number of frames that were sent; an error concerns the first
/// frame.
pub(super) fn send_frames<'a>(
    socket: BorrowedFd<'_>,
    frames: impl Iterator<Item = &'a [u8]>,
) -> Result<usize, Errno> {
    // SAFETY: both are plain structures of C for which zeroes are valid.
    #[allow(unsafe_code)] // `msghdr` has private padding, so no literal can make it.
    let (mut vectors, mut headers): ([libc::iovec; AT_ONCE], [libc::mmsghdr; AT_ONCE]) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let mut count = 0;
    for ((frame, vector), header) in frames.zip(&mut vectors).zip(&mut headers) {
        count += 1;
        vector.iov_base = frame.as_ptr().cast_mut().cast();
        vector.iov_len = frame.len();
        header.msg_hdr.msg_iov = std::ptr::from_mut(vector);
        header.msg_hdr.msg_iovlen = 1;
    }
    // SAFETY: the first `count` headers point to as many vectors, which point to frames; all outlive the call, and the
    // kernel only reads the frames.
    #[allow(unsafe_code)] // nix's sendmmsg allocates.
    let sent = unsafe { libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, libc::MSG_DONTWAIT) };
    Errno::result(sent).map(|sent| sent as usize)
}

choice! {
    /// The priority of the daemon among the programs of the machine.
    pub enum Priority {
        /// The lowest real-time priority (`SCHED_FIFO`): before all ordinary programs, up to the share of a processor that the kernel
        /// allows to such threads (95 % by default).
        Realtime = "realtime",
        /// The highest ordinary priority (nice -20), with short slices.
        High = "high",
    }
}

/// Gives the calling thread a priority, and what it starts later the usual one. Both need CAP_SYS_NICE, or the priority beforehand.
///
/// At high priority the thread also asks for the processor in slices of 100 us. From Linux 6.12 on, a thread with shorter slices
/// waits less for others when it wakes up; earlier kernels ignore the wish.
pub(super) fn raise_priority(priority: Priority) -> Result<(), Errno> {
    // SAFETY: the call has no pointers.
    #[allow(unsafe_code)] // nix has no such call.
    let high = Errno::result(unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, HIGHEST) });
    match priority {
        // Under systemd a unit begins with it, and may not ask for it.
        Priority::Realtime if is_realtime() => Ok(()),
        Priority::Realtime => change_priority(Priority::Realtime),
        Priority::High => {
            high?;
            // A sandbox may forbid this call; then threads that are started later run at high priority too.
            let _ = change_priority(Priority::High);
            Ok(())
        }
    }
}

/// Returns true if the calling thread has real-time priority.
pub(super) fn is_realtime() -> bool {
    // SAFETY: the call has no pointers.
    #[allow(unsafe_code)] // nix has no such call.
    let policy = unsafe { libc::sched_getscheduler(0) };
    matches!(policy & !libc::SCHED_RESET_ON_FORK, libc::SCHED_FIFO | libc::SCHED_RR)
}

/// The highest ordinary priority.
const HIGHEST: c_int = -20;

/// Changes the priority of the calling thread, and leaves what it starts later at the usual one.
pub(super) fn change_priority(priority: Priority) -> Result<(), Errno> {
    /// `struct sched_attr` in its first version (sched_setattr(2)).
    #[repr(C)]
    struct Attributes {
        size: u32,
        policy: u32,
        flags: u64,
        nice: i32,
        priority: u32,
        runtime_ns: u64,
        deadline_ns: u64,
        period_ns: u64,
    }
    let high = Attributes {
        size: size_of::<Attributes>() as u32,
        policy: libc::SCHED_OTHER as u32,
        flags: libc::SCHED_FLAG_RESET_ON_FORK as u64,
        nice: HIGHEST,
        priority: 0,
        runtime_ns: 100_000,
        deadline_ns: 0,
        period_ns: 0,
    };
    let wanted = match priority {
        Priority::High => high,
        Priority::Realtime => {
            Attributes { policy: libc::SCHED_FIFO as u32, nice: 0, priority: 1, runtime_ns: 0, ..high }
        }
    };
    // SAFETY: the call reads the attributes, which outlive it and have the size that they say.
    #[allow(unsafe_code)] // nix has no such call.
    let result = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const wanted, 0) };
    Errno::result(result).map(drop)
}

/// Returns the name of a NIC in the form in which the kernel wants it. `None` if no NIC can have that name.
fn request_for(name: &str) -> Option<libc::ifreq> {
    // SAFETY: `ifreq` is a plain structure of C for which zeroes are valid.
    #[allow(unsafe_code)] // The structure holds a union, which nix does not make.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: the name ends there.
    let room = request.ifr_name.len() - 1;
    if name.is_empty() || name.len() > room || name.contains('\0') {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Some(request)
}

/// A number that the kernel tells about a NIC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asked {
    /// The flags (`IFF_UP`, `IFF_RUNNING`).
    Flags,
    /// The MTU in bytes.
    Mtu,
}

/// Asks for a number of a NIC, by any socket. `ENODEV` if there is none of this name.
pub(super) fn nic_number(socket: BorrowedFd<'_>, name: &str, asked: Asked) -> Result<u32, Errno> {
    let mut request = request_for(name).ok_or(Errno::ENODEV)?;
    let code = match asked {
        Asked::Flags => libc::SIOCGIFFLAGS,
        Asked::Mtu => libc::SIOCGIFMTU,
    };
    // SAFETY: both requests read and write a `struct ifreq`, which outlives the call.
    #[allow(unsafe_code)] // nix has no call for these requests.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), code, std::ptr::from_mut(&mut request)) };
    Errno::result(result)?;
    // SAFETY: zeroes were valid for all members of the union, and the kernel has written the member that is read.
    #[allow(unsafe_code)] // The answer is a member of a union.
    Ok(unsafe {
        match asked {
            Asked::Flags => u32::from(request.ifr_ifru.ifru_flags as u16),
            Asked::Mtu => request.ifr_ifru.ifru_mtu as u32,
        }
    })
}

/// Asks for the Ethernet address of a NIC. `None` if the NIC is no Ethernet NIC.
pub(super) fn nic_address(socket: BorrowedFd<'_>, name: &str) -> Result<Option<[u8; 6]>, Errno> {
    let mut request = request_for(name).ok_or(Errno::ENODEV)?;
    // SAFETY: the request reads and writes a `struct ifreq`, which outlives the call.
    #[allow(unsafe_code)] // nix has no call for this request.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, std::ptr::from_mut(&mut request)) };
    Errno::result(result)?;
    // SAFETY: the kernel has written this member of the union.
    #[allow(unsafe_code)] // The answer is a member of a union.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr };
    if address.sa_family != libc::ARPHRD_ETHER {
        return Ok(None);
    }
    Ok(Some(std::array::from_fn(|at| address.sa_data[at] as u8)))
}

/// Asks the driver of a NIC by `SIOCETHTOOL`. `words` begins with the number of the command, and the kernel
/// writes its answer over the words.
///
/// Only commands whose structure is at most as long as `words` may be asked; so the type of `command` lists them.
pub(super) fn ethtool(
    socket: BorrowedFd<'_>,
    name: &str,
    command: Ethtool,
    words: &mut [u32; ETHTOOL_WORDS],
) -> Result<(), Errno> {
    let mut request = request_for(name).ok_or(Errno::ENODEV)?;
    words[0] = command as u32;
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: the kernel reads a `struct ifreq`, and reads and writes the structure of the command: two words, or the
    // eleven of `struct ethtool_cmd`; `words` has room for these and outlives the call.
    #[allow(unsafe_code)] // nix has no call for this request.
    let result =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL, std::ptr::from_mut(&mut request)) };
    Errno::result(result).map(drop)
}

/// Gives memory back to the system that was freed, and that the allocator keeps for later.
pub(super) fn give_memory_back() {
    // SAFETY: the call takes no pointer, and whatever is in use stays where it is.
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code)] // No library has this call of glibc.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// The length of the longest structure that [`ethtool`] takes: `struct ethtool_cmd`, in words of 32 bits.
pub(super) const ETHTOOL_WORDS: usize = 11;

/// The commands of [`ethtool`], by their numbers in `linux/ethtool.h`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(super) enum Ethtool {
    /// Settings of the link, with its speed (`ETHTOOL_GSET`).
    Link = 0x01,
    /// Segmentation of TCP by the NIC (`ETHTOOL_GTSO`).
    Tso = 0x1e,
    /// Flags, of which one is large receive offload (`ETHTOOL_GFLAGS`).
    Flags = 0x25,
    /// Segmentation just before the NIC (`ETHTOOL_GGSO`).
    Gso = 0x23,
    /// Joining of arriving packets (`ETHTOOL_GGRO`).
    Gro = 0x2b,
}

/// Returns what failed, and why, in one line.
pub(super) fn in_one_line(what: &str, error: &dyn std::error::Error) -> String {
    let mut text = format!("{what}: {error}");
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    // The verifier's reasons go on for hundreds of lines.
    let text = text.split(". Verifier output").next().unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}
