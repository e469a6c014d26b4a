//! The simulator as WebAssembly, by five exported functions. `web/src/engine/wasm.ts` calls them.
//!
//! A caller asks for room with [`request`], writes a request of the view protocol there, calls [`handle`], and reads
//! the reply at [`reply_pointer`]. After a panic, which ends the instance, its text is at [`panic_pointer`].
#![expect(
    unsafe_code,
    reason = "a function is exported by an attribute that counts as unsafe; there is no other such code"
)]

use clearway_view::{Reply, Stage};
use std::cell::RefCell;
use std::panic::set_hook;

/// The memory in bytes that all runs of an instance may take: an address space has 4 GB, and a phone's tab gets less.
const MEMORY: u64 = 1_000_000_000;

/// The bytes that are handed over.
struct Desk {
    stage: Stage,
    request: Vec<u8>,
    reply: Vec<u8>,
}

thread_local! {
    /// The desk is never dropped, since an instance ends without notice: so no code is needed that would drop it.
    static DESK: RefCell<&'static mut Desk> = RefCell::new(Box::leak(Box::new(Desk {
        stage: Stage::new(Some(MEMORY)),
        request: Vec::new(),
        reply: Vec::new(),
    })));
    /// The text of the panic that ended the instance.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Makes room for a request of so many bytes, and returns where.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn request(bytes: usize) -> *mut u8 {
    DESK.with_borrow_mut(|desk| {
        desk.request.clear();
        desk.request.resize(bytes, 0);
        desk.request.as_mut_ptr()
    })
}

/// Handles the request, and returns 0 if the reply is JSON in UTF-8, 1 if it is a frame.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn handle() -> u32 {
    set_hook(Box::new(|panic| {
        PANIC.with_borrow_mut(|text| *text = panic.to_string().replace('\n', " "));
    }));
    DESK.with_borrow_mut(|desk| {
        let request = String::from_utf8_lossy(&desk.request);
        let (kind, reply) = match desk.stage.handle(&request) {
            Reply::Json(text) => (0, text.into_bytes()),
            Reply::Frame(bytes) => (1, bytes),
        };
        desk.reply = reply;
        kind
    })
}

/// The place of the reply, which stays until the next request is handled.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn reply_pointer() -> *const u8 {
    DESK.with_borrow(|desk| desk.reply.as_ptr())
}

/// The length of the reply in bytes.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn reply_length() -> usize {
    DESK.with_borrow(|desk| desk.reply.len())
}

/// The place of the text of the panic that ended the instance.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn panic_pointer() -> *const u8 {
    PANIC.with_borrow(|text| text.as_ptr())
}

/// The length of that text in bytes; 0 if there was no panic.
// SAFETY: no other function of the program has this name.
#[unsafe(no_mangle)]
pub extern "C" fn panic_length() -> usize {
    PANIC.with_borrow(|text| text.len())
}
