//! Reading the map of a BPF program that the kernel runs.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const MAP_LOOKUP_ELEM: libc::c_long = 1;
const PROG_GET_FD_BY_ID: libc::c_long = 13;
const MAP_GET_FD_BY_ID: libc::c_long = 14;
const OBJ_GET_INFO_BY_FD: libc::c_long = 15;
/// The length of the kernel's `struct bpf_prog_info` up to its list of maps.
const INFO_LEN: usize = 64;

/// The argument of the system call: the fields that our commands have, with zeros behind them.
#[repr(C, align(8))]
struct Argument([u8; 64]);

impl Argument {
    fn new(words: &[(usize, u32)], longs: &[(usize, u64)]) -> Argument {
        let mut bytes = [0; 64];
        for (at, word) in words {
            bytes[*at..at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        for (at, long) in longs {
            bytes[*at..at + 8].copy_from_slice(&long.to_ne_bytes());
        }
        Argument(bytes)
    }
}

/// A per-CPU array of one entry that belongs to a program, whose entry is `FIELDS` numbers of 64 bits.
#[derive(Debug)]
pub struct PerCpuArray<const FIELDS: usize> {
    map: OwnedFd,
    /// A row for each CPU that the machine may have.
    rows: Vec<[u64; FIELDS]>,
}

impl<const FIELDS: usize> PerCpuArray<FIELDS> {
    /// Opens the only map of the program with this number, which needs CAP_SYS_ADMIN. Reading it needs nothing.
    pub fn of_program(id: u32) -> io::Result<PerCpuArray<FIELDS>> {
        let program = descriptor(PROG_GET_FD_BY_ID, id)?;
        let map = descriptor(MAP_GET_FD_BY_ID, only_map(&program)?)?;
        Ok(PerCpuArray { map, rows: vec![[0; FIELDS]; possible_cpus()?] })
    }

    /// Reads the entry: a row for each CPU.
    #[allow(unsafe_code, reason = "neither the standard library nor nix has the system call bpf")]
    pub fn read(&mut self) -> io::Result<&[[u64; FIELDS]]> {
        let key = 0u32;
        let pointers = [(8, (&raw const key) as u64), (16, self.rows.as_mut_ptr() as u64)];
        let mut argument = Argument::new(&[(0, self.map.as_raw_fd() as u32)], &pointers);
        // SAFETY: the kernel reads 4 bytes of `key` and writes one row of the map's entry, whose length is that of ours,
        // for each possible CPU; `rows` has so many. Both live beyond the call.
        let result = unsafe {
            libc::syscall(libc::SYS_bpf, MAP_LOOKUP_ELEM, &raw mut argument, size_of::<Argument>())
        };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(&self.rows) }
    }
}

/// Returns a file descriptor of the program or map with this number.
#[allow(unsafe_code, reason = "neither the standard library nor nix has the system call bpf")]
fn descriptor(command: libc::c_long, id: u32) -> io::Result<OwnedFd> {
    let mut argument = Argument::new(&[(0, id)], &[]);
    // SAFETY: the argument lives beyond the call, and has no pointers in it.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, &raw mut argument, size_of::<Argument>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this file descriptor for us, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(result as i32) })
}

/// Returns the number of the only map of a program.
#[allow(unsafe_code, reason = "neither the standard library nor nix has the system call bpf")]
fn only_map(program: &OwnedFd) -> io::Result<u32> {
    let mut map = 0u32;
    // Room for one number at offset 52, and its place at offset 56.
    let mut info = Argument::new(&[(52, 1)], &[(56, (&raw mut map) as u64)]);
    let words = [(0, program.as_raw_fd() as u32), (4, INFO_LEN as u32)];
    let mut argument = Argument::new(&words, &[(8, (&raw mut info) as u64)]);
    // SAFETY: the kernel writes at most `INFO_LEN` bytes of `info`, which has so many, and the number of one map to
    // `map`. Both live beyond the call.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, OBJ_GET_INFO_BY_FD, &raw mut argument, size_of::<Argument>()) };
    match result < 0 {
        true => Err(io::Error::last_os_error()),
        false if map == 0 => Err(io::Error::new(io::ErrorKind::NotFound, "the program has no map")),
        false => Ok(map),
    }
}

/// Returns the number of CPUs that the machine may have: one more than the largest in a list such as `0-3,8-11`.
fn possible_cpus() -> io::Result<usize> {
    let list = fs::read_to_string("/sys/devices/system/cpu/possible")?;
    let largest = list.trim().rsplit(['-', ',']).next().and_then(|number| number.parse::<usize>().ok());
    let largest = largest.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no list of CPUs"))?;
    Ok(largest + 1)
}
