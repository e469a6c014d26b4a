//! The maps of programs in the kernel, in memory that these and the daemon share.

use nix::errno::Errno;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// What the kernel and the daemon share. Every bit pattern is a value, and all fields are atomic.
pub(super) trait Common {}

/// A map in our memory.
pub(super) struct Shared<T: Common>(NonNull<T>);

impl<T: Common> Shared<T> {
    /// Maps the table of a map.
    pub fn map(map: BorrowedFd<'_>) -> Result<Shared<T>, Errno> {
        Shared::new(libc::MAP_SHARED, map.as_raw_fd())
    }

    /// Makes a table of zeroes that no program has.
    #[cfg(test)]
    pub fn anonymous() -> Shared<T> {
        Shared::new(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1).expect("memory is there")
    }

    fn new(flags: libc::c_int, file: libc::c_int) -> Result<Shared<T>, Errno> {
        let (len, access) = (size_of::<T>(), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the kernel chooses the place, so no memory of ours is touched. It refuses a length beyond that of the map's entry.
        #[allow(unsafe_code)] // The standard library maps no memory.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, file, 0) };
        if memory == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        NonNull::new(memory.cast()).map(Shared).ok_or(Errno::ENOMEM)
    }

    pub fn table(&self) -> &T {
        // SAFETY: the memory is mapped as long as `self`, is aligned to a page, and has the size of the table. All of it that the
        // kernel changes is atomic, and every bit pattern of it is valid.
        #[allow(unsafe_code)] // The memory is the kernel's.
        unsafe {
            self.0.as_ref()
        }
    }
}

impl<T: Common> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: `map` mapped this memory with this length, and nothing refers to it any more.
        #[allow(unsafe_code)] // The standard library maps no memory.
        unsafe {
            libc::munmap(self.0.as_ptr().cast(), size_of::<T>());
        }
    }
}
