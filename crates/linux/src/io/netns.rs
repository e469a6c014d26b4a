//! The number of a network namespace.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// Returns the number that the kernel gave to the network namespace of this process. It gives it to no other namespace
/// while it runs, unlike the inode.
#[allow(unsafe_code, reason = "neither the standard library nor nix reads SO_NETNS_COOKIE")]
pub fn netns_cookie() -> io::Result<u64> {
    let any = UdpSocket::bind(("0.0.0.0", 0))?;
    let mut cookie = 0u64;
    let mut len = size_of::<u64>() as libc::socklen_t;
    // SAFETY: the file descriptor is open, and the two pointers are to values that live beyond the call, of which the
    // first has the length that the second says.
    let result = unsafe {
        libc::getsockopt(
            any.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut len,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
