//! Fetching into the cache what an event will need, while those before it are handled.

/// Events between the steps in which what an event needs is fetched: about the time of a miss.
pub const AHEAD: usize = 3;

/// True where a program can ask for a cache line: elsewhere, as in WebAssembly, it need not find out which one.
pub const CAN_FETCH: bool = cfg!(target_arch = "x86_64");

/// Returns whether so many bytes are more than a core's own cache holds, so that fetching ahead pays.
pub fn exceeds_cache(bytes: usize) -> bool {
    CAN_FETCH && bytes > 1 << 20
}

/// The bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache line in which `place` starts. This is a hint: it changes how long things take and nothing else.
#[inline(always)]
pub fn prefetch<T>(place: &T) {
    prefetch_lines(std::ptr::from_ref(place).cast(), 1);
}

/// Asks for so many cache lines from an address on. This is a hint: it changes how long things take and nothing else.
#[inline(always)]
#[allow(unsafe_code)]
pub fn prefetch_lines(address: *const u8, lines: usize) {
    for line in 0..lines {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: a prefetch reads nothing that the program could see, and never faults whatever the address is.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(address.wrapping_add(line * LINE).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (address, line * LINE);
    }
}
