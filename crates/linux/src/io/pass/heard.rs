//! Packets of which the programs at the NIC tell the daemon (`hear` in `bpf/seen.h`).

use super::memory::Table;
use crate::io::shared::Shared;
use crate::io::sys;
use aya::Ebpf;
use aya::maps::{Map, MapData, RingBuf};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The rings in which packets are told of.
pub(in crate::io) struct Heard {
    packets: RingBuf<MapData>,
    /// A byte for each connection that was opened from here or answered.
    opened: RingBuf<MapData>,
    shared: Shared<Table>,
}

impl Heard {
    /// Takes the rings of the programs, which tell of packets from now on.
    pub fn of(loaded: &mut Ebpf) -> Result<Heard, String> {
        let Some(Map::Array(map)) = loaded.map("cw_pass") else {
            return Err("the object has no table".to_owned());
        };
        let shared: Shared<Table> = Shared::map(map.fd().as_fd())
            .map_err(|errno| sys::in_one_line("cannot map the table of the programs into memory", &errno))?;
        let mut ring = |name| {
            let map = loaded.take_map(name).ok_or_else(|| format!("the object has no ring {name}"))?;
            RingBuf::try_from(map).map_err(|error| sys::in_one_line("cannot map a ring", &error))
        };
        let (packets, opened) = (ring("cw_heard")?, ring("cw_opened")?);
        shared.table().hears.store(1, Release);
        Ok(Heard { packets, opened, shared })
    }

    /// Says whether any packet that is told of shall wake the daemon.
    pub fn wake(&self, wakes: bool) {
        let (wakes, now) = (wakes.into(), &self.shared.table().wakes);
        if now.load(Relaxed) != wakes {
            now.store(wakes, Release);
        }
    }

    /// Returns what has something to read as soon as a packet was told of that shall wake the daemon.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.packets.as_fd()
    }

    /// Returns what has something to read as soon as a connection was opened from here or answered.
    pub fn opened(&self) -> BorrowedFd<'_> {
        self.opened.as_fd()
    }

    /// Forgets that connections were opened, which only wakes the loop: the other ring has their packets.
    pub fn forget_opened(&mut self) {
        while self.opened.next().is_some() {}
    }

    /// Hands up to `most` packets to `packet`, each from its Ethernet header on, with true if it left from here. Returns their number.
    pub fn read(&mut self, most: usize, mut packet: impl FnMut(&[u8], bool)) -> usize {
        for read in 0..most {
            let Some(told) = self.packets.next() else { return read };
            if let Some(([is_outgoing, len], bytes)) = told.split_first_chunk() {
                packet(&bytes[..usize::from(*len).min(bytes.len())], *is_outgoing != 0);
            }
        }
        most
    }
}
