//! What can go wrong between a datapath and the kernel.

use nix::errno::Errno;
use thiserror::Error;

/// The reason why a datapath cannot be driven (any longer), or why rules cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum IoError {
    /// There is no NIC of this name.
    #[error("there is no NIC {0}; `ip link` lists those that exist")]
    NoInterface(String),
    /// The NIC was removed, or another one has its name now.
    #[error("the NIC {0} was removed")]
    InterfaceRemoved(String),
    /// The NIC has no Ethernet address.
    #[error("the NIC {0} has no Ethernet address, and Clearway's frames travel over Ethernet alone")]
    NotEthernet(String),
    /// The kernel lets us not open or set up a socket.
    #[error("{what}: {errno}{}", hint(*.errno))]
    Socket {
        /// What we tried.
        what: &'static str,
        /// The answer of the kernel.
        errno: Errno,
    },
    /// The queue of NFQUEUE cannot be had.
    #[error("queue {queue} of NFQUEUE: {errno}{}", queue_hint(*.errno))]
    Queue {
        /// The number of the queue.
        queue: u16,
        /// The answer of the kernel.
        errno: Errno,
    },
    /// The UDP port of control frames cannot be had.
    #[error("UDP port {port} of control frames: {errno}{}", port_hint(*.errno))]
    Port {
        /// The port.
        port: u16,
        /// The answer of the kernel.
        errno: Errno,
    },
    /// No iptables on this machine can set the rule.
    #[error("no iptables can set the rule that holds packets; tried {0}")]
    NoIptables(String),
}

impl IoError {
    pub(super) fn socket(what: &'static str) -> impl Fn(Errno) -> IoError {
        move |errno| IoError::Socket { what, errno }
    }
}

fn hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EACCES => " (clearwayd needs CAP_NET_ADMIN and CAP_NET_RAW)",
        _ => "",
    }
}

fn port_hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EACCES => {
            " (ports below 1024 need CAP_NET_BIND_SERVICE; choose another one at all hosts \
             with --control-port)"
        }
        Errno::EADDRINUSE => " (another program has it; choose another one at all hosts with --control-port)",
        _ => "",
    }
}

fn queue_hint(errno: Errno) -> &'static str {
    match errno {
        Errno::EPERM | Errno::EBUSY => {
            " (clearwayd needs CAP_NET_ADMIN, and no other program may have bound the queue)"
        }
        Errno::EINVAL | Errno::EOPNOTSUPP | Errno::EPROTONOSUPPORT => {
            " (the kernel needs CONFIG_NETFILTER_NETLINK_QUEUE)"
        }
        _ => "",
    }
}
