//! A NIC: its state, its size of packets, its rate, and the offloads that hide packets from us.

use super::error::IoError;
use super::offload::Offload;
use super::sys::{self, Asked, ETHTOOL_WORDS, Ethtool};
use crate::wire::MacAddr;
use clearway_units::Rate;
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::os::fd::{AsFd, OwnedFd};

/// The state of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkState {
    /// Packets can pass.
    Up,
    /// The NIC is switched off, or has no carrier.
    Down,
}

/// A NIC that exists.
#[derive(Debug)]
pub struct Nic {
    name: String,
    index: u32,
    socket: OwnedFd,
}

impl Nic {
    /// Looks a NIC up by its name.
    pub fn open(name: &str) -> Result<Nic, IoError> {
        let index = if_nametoindex(name).map_err(|_| IoError::NoInterface(name.to_string()))?;
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
            .map_err(IoError::socket("cannot open a socket to ask for the NIC"))?;
        Ok(Nic { name: name.to_string(), index, socket })
    }

    /// Returns the name of the NIC.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number by which the kernel knows the NIC.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the Ethernet address.
    pub fn address(&self) -> Result<MacAddr, IoError> {
        let address =
            sys::nic_address(self.socket.as_fd(), &self.name).map_err(|errno| self.failed(errno))?;
        address.map(MacAddr).ok_or_else(|| IoError::NotEthernet(self.name.clone()))
    }

    /// Returns the MTU in bytes.
    pub fn mtu(&self) -> Result<u16, IoError> {
        let mtu = sys::nic_number(self.socket.as_fd(), &self.name, Asked::Mtu)
            .map_err(|errno| self.failed(errno))?;
        Ok(mtu.min(u32::from(u16::MAX)) as u16)
    }

    /// Returns the state of the link, or an error if this very NIC is no longer there.
    pub fn state(&self) -> Result<LinkState, IoError> {
        const PASSING: u32 = (libc::IFF_UP | libc::IFF_RUNNING) as u32;
        if if_nametoindex(self.name.as_str()) != Ok(self.index) {
            return Err(IoError::InterfaceRemoved(self.name.clone()));
        }
        let flags = sys::nic_number(self.socket.as_fd(), &self.name, Asked::Flags);
        let flags = flags.map_err(|errno| self.failed(errno))?;
        Ok(if flags & PASSING == PASSING { LinkState::Up } else { LinkState::Down })
    }

    /// Returns the rate that the driver tells, if it tells one.
    pub fn rate(&self) -> Option<Rate> {
        let mut words = [0; ETHTOOL_WORDS];
        sys::ethtool(self.socket.as_fd(), &self.name, Ethtool::Link, &mut words).ok()?;
        speed(&words).map(Rate::mbps)
    }

    /// Returns true if an offload is on.
    pub fn has_offload(&self, offload: Offload) -> bool {
        /// The flag of large receive offload (`ETH_FLAG_LRO`).
        const LRO: u32 = 1 << 15;
        let (command, mask) = match offload {
            Offload::Tso => (Ethtool::Tso, u32::MAX),
            Offload::Gso => (Ethtool::Gso, u32::MAX),
            Offload::Gro => (Ethtool::Gro, u32::MAX),
            Offload::Lro => (Ethtool::Flags, LRO),
        };
        let mut words = [0; ETHTOOL_WORDS];
        sys::ethtool(self.socket.as_fd(), &self.name, command, &mut words).is_ok() && words[1] & mask != 0
    }

    fn failed(&self, errno: Errno) -> IoError {
        match errno {
            Errno::ENODEV | Errno::ENXIO => IoError::InterfaceRemoved(self.name.clone()),
            errno => IoError::Socket { what: "cannot ask for the NIC", errno },
        }
    }
}

/// Reads the speed in Mbit/s from a `struct ethtool_cmd`, which has its lower and upper half in different places.
fn speed(words: &[u32; ETHTOOL_WORDS]) -> Option<u64> {
    let half = |word: u32| {
        let [a, b, ..] = word.to_ne_bytes();
        u32::from(u16::from_ne_bytes([a, b]))
    };
    match half(words[3]) | half(words[7]) << 16 {
        0 | 0xffff | u32::MAX => None,
        speed => Some(u64::from(speed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_speed_has_two_halves_and_may_be_unknown() {
        let words = |low: u16, high: u16| {
            let mut words = [0; ETHTOOL_WORDS];
            let [a, b] = low.to_ne_bytes();
            words[3] = u32::from_ne_bytes([a, b, 1, 2]);
            let [a, b] = high.to_ne_bytes();
            words[7] = u32::from_ne_bytes([a, b, 3, 4]);
            words
        };
        assert_eq!(speed(&words(10_000, 0)), Some(10_000));
        assert_eq!(speed(&words(0x86a0, 1)), Some(100_000));
        assert_eq!(speed(&words(0xffff, 0xffff)), None);
        assert_eq!(speed(&words(0xffff, 0)), None);
        assert_eq!(speed(&words(0, 0)), None);
    }
}
