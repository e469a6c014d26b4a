//! The table of `bpf/pass.bpf.c` in memory that the kernel and the daemon share.

use nix::errno::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64};

/// The places for hosts, and for flows.
pub(super) const HOSTS: usize = 1024;
pub(super) const FLOWS: usize = 4096;

/// `struct host`: another host.
#[repr(C)]
pub(super) struct HostPlace {
    /// Its address as in the header, with zeroes behind one of IPv4.
    pub address: [AtomicU32; 4],
    /// 4 or 6 for the version of IP; 0 if the place is free.
    pub version: AtomicU32,
    unused: u32,
    /// The bytes on the wire that small packets may spend.
    pub allowance: AtomicI64,
    /// The packets that left, their payload in bytes, and their bytes on the wire.
    pub packets: AtomicU64,
    pub payload: AtomicU64,
    pub wire: AtomicU64,
}

/// `struct flows`: the flows of one place.
#[repr(C)]
pub(super) struct FlowPlace {
    /// The packets that NFQUEUE was to hold, and those among them that left.
    pub held: AtomicU32,
    pub left: AtomicU32,
}

/// `struct table`.
#[repr(C)]
pub(super) struct Table {
    /// The packets that left, to all hosts.
    pub passed: AtomicU64,
    /// The most bytes on the wire of a small packet.
    pub small: AtomicU32,
    unused: u32,
    pub hosts: [HostPlace; HOSTS],
    pub flows: [FlowPlace; FLOWS],
}

const _: () = assert!(size_of::<HostPlace>() == 56 && size_of::<Table>() == 16 + 56 * HOSTS + 8 * FLOWS);

/// The mapped table.
pub(super) struct Shared(NonNull<Table>);

impl Shared {
    /// Maps the table of a map.
    pub fn map(map: BorrowedFd<'_>) -> Result<Shared, Errno> {
        Shared::new(libc::MAP_SHARED, map.as_raw_fd())
    }

    /// Makes a table of zeroes that no program has.
    #[cfg(test)]
    pub fn anonymous() -> Shared {
        Shared::new(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory is there")
    }

    fn new(flags: libc::c_int, file: libc::c_int) -> Result<Shared, Errno> {
        let (len, access) = (size_of::<Table>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the kernel chooses the place, so no memory of ours is touched. It refuses a length beyond that of the map's entry.
        #[allow(unsafe_code)] // The standard library maps no memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file, 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        NonNull::new(memory.cast()).map(Shared).ok_or(Errno::ENOMEM)
    }

    pub fn table(&self) -> &Table {
        // SAFETY: the memory is mapped as long as `self`, is aligned to a page, and has the size of the table. All of it that the
        // kernel changes is atomic, and every bit pattern of it is valid.
        #[allow(unsafe_code)] // The memory is the kernel's.
        unsafe {
            self.0.as_ref()
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: `map` mapped this memory with this length, and nothing refers to it any more.
        #[allow(unsafe_code)] // The standard library maps no memory.
        unsafe {
            libc::munmap(self.0.as_ptr().cast(), size_of::<Table>());
        }
    }
}
