//! The BPF programs of `crates/linux/bpf`, compiled, as parts of the daemon.

use std::fs;
use std::io;
use std::path::Path;

/// A compiled BPF program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Object {
    /// The name by which `clearwayd object NAME` writes it to a file.
    pub name: &'static str,
    /// One sentence that says what the program does.
    pub summary: &'static str,
    /// The object file.
    pub bytes: &'static [u8],
}

/// All compiled programs.
pub const OBJECTS: [Object; 2] = [
    Object {
        name: "ecn",
        summary: "Marks packets with CE at a port with a long queue, and counts; a classifier for clsact egress.",
        bytes: include_bytes!("../../bpf/ecn.bpf.o"),
    },
    Object {
        name: "dctcp",
        summary: "DCTCP (RFC 8257) as a congestion control of the kernel's TCP, `cw_dctcp`; for `bpftool struct_ops`.",
        bytes: include_bytes!("../../bpf/dctcp.bpf.o"),
    },
];

impl Object {
    /// Returns the program of a name.
    pub fn by_name(name: &str) -> Option<&'static Object> {
        OBJECTS.iter().find(|object| object.name == name)
    }

    /// Writes the program to a file, and makes the folder of the file if it is not there.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, self.bytes)
    }
}
