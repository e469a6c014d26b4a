//! An allocator that asks the kernel for huge pages where memory is large.
//!
//! A network of thousands of hosts keeps its ports, packets, pending events and ends of flows in arrays of tens of
//! megabytes, which are read all over. With pages of 4 KB the processor finds few of their addresses in its table of
//! pages; with pages of 2 MB it finds most. Small arrays gain nothing, and each would take up to 2 MB more.
//!
//! The kernel decides: where `/sys/kernel/mm/transparent_hugepage/enabled` is `never`, or outside of Linux, this is the
//! system's allocator.
#![allow(unsafe_code, reason = "an allocator passes raw pointers on")]

use std::alloc::{GlobalAlloc, Layout, System};

/// The size in bytes from which on memory asks for huge pages.
///
/// With 4 MB networks of 1,024 hosts took up to 5 % more memory and were not faster.
pub const LARGE: usize = 16 << 20;

/// The system's allocator, with a request for huge pages for each allocation of [`LARGE`] bytes or more.
///
/// A program uses it by `#[global_allocator] static MEMORY: HugePages = HugePages;`.
pub struct HugePages;

// SAFETY: every call is handed on to the system's allocator as it came. The advice changes neither content nor bounds of
// what that returned.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the rules of `GlobalAlloc`.
        advised(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as above.
        advised(unsafe { System.realloc(pointer, layout, new_size) }, new_size)
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

/// Asks for huge pages for memory that was just allocated, if it is large, and returns its address.
fn advised(pointer: *mut u8, size: usize) -> *mut u8 {
    if size >= LARGE && !pointer.is_null() {
        advise(pointer, size);
    }
    pointer
}

#[cfg(target_os = "linux")]
#[cold]
fn advise(pointer: *mut u8, size: usize) {
    /// More than any page that is not huge: advice is about whole pages.
    const ROUND: usize = 64 << 10;
    let skipped = pointer.align_offset(ROUND);
    let whole = size.saturating_sub(skipped) / ROUND * ROUND;
    // SAFETY: the range lies within what was allocated. The advice keeps its content, and a kernel that does not know it
    // refuses, which does no harm.
    unsafe { libc::madvise(pointer.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_: *mut u8, _: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[global_allocator]
    static MEMORY: HugePages = HugePages;

    /// Returns true if the kernel has marked the memory at an address for huge pages; `None` where it does not tell.
    fn is_marked(address: *const u8) -> Option<bool> {
        let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mut inside = false;
        for line in text.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            if let Some((from, to)) = range
                && let (Ok(from), Ok(to)) = (usize::from_str_radix(from, 16), usize::from_str_radix(to, 16))
            {
                inside = (from..to).contains(&address.addr());
            }
            if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| inside) {
                return Some(flags.split_whitespace().any(|flag| flag == "hg"));
            }
        }
        None
    }

    fn has_huge_pages() -> bool {
        std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled").exists()
    }

    #[test]
    fn memory_of_16_mb_is_marked_for_huge_pages_and_less_is_not() {
        for (size, marked) in [(LARGE, true), (3 * LARGE + 5, true), (LARGE - 1, false), (1 << 20, false)] {
            let memory = vec![1u8; size];
            let middle = &memory[size / 2];
            assert_eq!(is_marked(middle), Some(marked && has_huge_pages()), "{size}");
            let zeros = vec![0u8; size];
            assert_eq!(is_marked(&zeros[size / 2]), Some(marked && has_huge_pages()), "{size} zeros");
        }
    }

    #[test]
    fn memory_that_grows_is_marked_as_soon_as_it_is_large_and_keeps_its_content() {
        let mut memory: Vec<u32> = Vec::new();
        for place in 0..(LARGE / 2) as u32 {
            memory.push(place);
        }
        assert_eq!(is_marked((&raw const memory[LARGE / 4]).cast()), Some(has_huge_pages()));
        assert!((0..).zip(&memory).all(|(place, value)| place == *value));
        memory.truncate(10);
        memory.shrink_to_fit();
        assert_eq!(memory, (0..10).collect::<Vec<u32>>());
    }
}
