//! Messages to systemd: ready, alive, stopping (`sd_notify(3)`).

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// The connection to the service manager that started us, if there is one.
#[derive(Debug, Default)]
pub struct Notify {
    socket: Option<UnixDatagram>,
    watchdog: Option<Duration>,
}

impl Notify {
    /// Connects to the service manager that the environment names.
    #[allow(clippy::disallowed_methods, reason = "the service manager tells its address by the environment")]
    pub fn from_environment() -> Notify {
        let of = |name: &str| std::env::var(name).ok();
        let socket = of("NOTIFY_SOCKET").and_then(|address| match connect(&address) {
            Ok(socket) => Some(socket),
            Err(error) => {
                tracing::warn!(address, %error, "the service manager cannot be reached");
                None
            }
        });
        let is_ours = of("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let period = of("WATCHDOG_USEC").and_then(|text| text.parse().ok()).filter(|period| *period > 0);
        let watchdog = period.filter(|_| is_ours).map(Duration::from_micros);
        Notify { socket, watchdog }
    }

    /// Returns the longest time that the service manager waits for a sign of life, if it waits for one.
    pub fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// Says that the daemon works, and in a few words what it does.
    pub fn ready(&self, status: &str) {
        self.send(&format!("READY=1\nSTATUS={}", status.replace('\n', " ")));
    }

    /// Says that the daemon's loop goes round.
    pub fn alive(&self) {
        self.send("WATCHDOG=1");
    }

    /// Says that the daemon ends.
    pub fn stopping(&self) {
        self.send("STOPPING=1");
    }

    fn send(&self, message: &str) {
        if let Some(socket) = &self.socket {
            // A manager that takes no message now gets the next one.
            let _ = socket.send(message.as_bytes());
        }
    }
}

/// Connects to a path, or to an abstract name that begins with `@`. The socket never waits.
fn connect(address: &str) -> io::Result<UnixDatagram> {
    let address = match address.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.connect_addr(&address)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_reach_a_manager_at_an_abstract_address_in_its_format() {
        let name = format!("cw-notify-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let manager = UnixDatagram::bind_addr(&address).expect("free");
        let notify = Notify { socket: connect(&format!("@{name}")).ok(), watchdog: None };
        let received = || {
            let mut bytes = [0; 100];
            let len = manager.recv(&mut bytes).expect("a message");
            String::from_utf8_lossy(&bytes[..len]).into_owned()
        };
        notify.ready("two\nlines");
        assert_eq!(received(), "READY=1\nSTATUS=two lines");
        notify.alive();
        assert_eq!(received(), "WATCHDOG=1");
        notify.stopping();
        assert_eq!(received(), "STOPPING=1");
    }
}
