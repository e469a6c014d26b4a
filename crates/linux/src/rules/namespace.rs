//! The network namespace of this process.

use crate::io::netns_cookie;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A network namespace, by numbers that tell it from all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Namespace {
    /// The identification of the kernel's run, from `/proc/sys/kernel/random/boot_id`.
    pub boot: String,
    /// The kernel's number for the namespace, which is never used again while the kernel runs.
    pub cookie: u64,
    /// The inode of the namespace, by which `ip netns` and `lsns` show it. It may be used again.
    pub inode: u64,
}

impl Namespace {
    /// Returns the namespace of this process.
    pub fn own() -> io::Result<Namespace> {
        Ok(Namespace {
            boot: fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned(),
            cookie: netns_cookie()?,
            inode: fs::metadata("/proc/self/ns/net")?.ino(),
        })
    }

    /// Returns where a namespace with this inode can be entered: `/run/netns/NAME` or `/proc/PID/ns/net`. `None` if
    /// nobody holds it any more.
    pub fn place(&self) -> Option<PathBuf> {
        let named = fs::read_dir("/run/netns").into_iter().flatten().flatten().map(|entry| entry.path());
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
            let is_number = entry.file_name().to_str()?.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| entry.path().join("ns/net"))
        });
        named.chain(processes).find(|path| fs::metadata(path).is_ok_and(|found| found.ino() == self.inode))
    }
}
