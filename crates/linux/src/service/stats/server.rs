//! The thread that hands out statistics. No client can hold up the datapath, which this thread never waits for, nor
//! other clients for long: connections are few, short, and end after a few seconds.

use super::prometheus;
use super::snapshot::Shared;
use crate::rules::Namespace;
use crate::service::settings::Endpoint;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The largest number of connections at once, by listener.
const CONNECTIONS: usize = 8;
/// The time after which a connection is closed, whatever its state.
const PATIENCE: Duration = Duration::from_secs(3);
/// The length of the longest request in bytes.
const REQUEST: usize = 4096;
/// The largest number of turns that one wake-up gives to the accepting of connections.
const ACCEPTED: usize = 4;

/// Returns the Unix socket on which the daemon of a NIC tells its statistics.
pub fn socket_path(folder: &Path, namespace: &Namespace, dev: &str) -> PathBuf {
    folder.join(format!("{}-{dev}.sock", namespace.cookie))
}

/// Sockets on which statistics are asked for. Their files are removed when this is dropped.
#[derive(Debug, Default)]
pub struct Server {
    listeners: Vec<Listener>,
    files: Vec<PathBuf>,
}

#[derive(Debug)]
struct Listener {
    socket: Socket,
    /// If true, clients speak HTTP; else they are told a JSON object at once.
    http: bool,
}

#[derive(Debug)]
enum Socket {
    Unix(UnixListener),
    Tcp(TcpListener),
}

trait Stream: Read + Write + AsFd + Send {}
impl<T: Read + Write + AsFd + Send> Stream for T {}

impl Server {
    /// Opens the socket for `clearwayd stats`.
    pub fn listen(&mut self, path: &Path) -> io::Result<()> {
        let socket = Socket::Unix(self.bind(path)?);
        self.listeners.push(Listener { socket, http: false });
        Ok(())
    }

    /// Opens the endpoint for Prometheus.
    pub fn listen_http(&mut self, endpoint: &Endpoint) -> io::Result<()> {
        let socket = match endpoint {
            Endpoint::Unix(path) => Socket::Unix(self.bind(path)?),
            Endpoint::Tcp(address) => {
                let listener = TcpListener::bind(address)?;
                listener.set_nonblocking(true)?;
                Socket::Tcp(listener)
            }
        };
        self.listeners.push(Listener { socket, http: true });
        Ok(())
    }

    fn bind(&mut self, path: &Path) -> io::Result<UnixListener> {
        let is_socket = fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
        // A socket to which nobody listens any more was left by a daemon that was killed.
        if is_socket
            && UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        {
            fs::remove_file(path)?;
        }
        let before = umask(Mode::from_bits_truncate(0o177));
        let bound = UnixListener::bind(path);
        umask(before);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        self.files.push(path.to_owned());
        Ok(listener)
    }

    /// Starts the thread. It ends with the process.
    pub fn start(&mut self, shared: Arc<Shared>) -> io::Result<()> {
        let listeners = std::mem::take(&mut self.listeners);
        std::thread::Builder::new().name("statistics".into()).spawn(move || serve(&listeners, &shared))?;
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for file in &self.files {
            let _ = fs::remove_file(file);
        }
    }
}

impl Socket {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Socket::Unix(socket) => socket.as_fd(),
            Socket::Tcp(socket) => socket.as_fd(),
        }
    }

    fn accept(&self) -> io::Result<Box<dyn Stream>> {
        Ok(match self {
            Socket::Unix(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
            Socket::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                stream.set_nonblocking(true)?;
                Box::new(stream)
            }
        })
    }
}

struct Connection {
    stream: Box<dyn Stream>,
    listener: usize,
    /// What was read of the request.
    request: Vec<u8>,
    /// What is to be written; empty until the request is complete.
    answer: Vec<u8>,
    written: usize,
    end: Instant,
}

#[allow(clippy::disallowed_methods, reason = "the deadline of a client is a time of the real clock")]
fn clock() -> Instant {
    Instant::now()
}

fn serve(listeners: &[Listener], shared: &Shared) {
    let mut connections: Vec<Connection> = Vec::new();
    // After an error, such as too many open files, nobody is accepted for a while.
    let mut pause_until = clock();
    loop {
        let now = clock();
        let is_open = |at: usize| {
            now >= pause_until
                && connections.iter().filter(|other| other.listener == at).count() < CONNECTIONS
        };
        let mut ready: Vec<PollFd<'_>> = Vec::with_capacity(listeners.len() + connections.len());
        ready.extend(listeners.iter().enumerate().map(|(at, listener)| {
            let wanted = if is_open(at) { PollFlags::POLLIN } else { PollFlags::empty() };
            PollFd::new(listener.socket.fd(), wanted)
        }));
        ready.extend(connections.iter().map(|connection| {
            let wanted = if connection.answer.is_empty() { PollFlags::POLLIN } else { PollFlags::POLLOUT };
            PollFd::new(connection.stream.as_fd(), wanted)
        }));
        // Without a client there is nothing to do before one comes.
        let quiet = connections.is_empty() && now >= pause_until;
        let wait = if quiet { PollTimeout::NONE } else { PollTimeout::from(200u8) };
        if poll(&mut ready, wait).is_err() {
            std::thread::sleep(Duration::from_millis(200));
        }
        let is_ready: Vec<bool> = ready.iter().map(|fd| fd.any().unwrap_or(true)).collect();
        drop(ready);
        let now = clock();
        let mut flags = is_ready[listeners.len()..].iter();
        connections.retain_mut(|connection| {
            let goes_on = !*flags.next().unwrap_or(&false) || connection.step(shared);
            goes_on && now < connection.end
        });
        for (at, listener) in listeners.iter().enumerate().filter(|(at, _)| is_ready[*at]) {
            for _ in 0..ACCEPTED {
                match listener.socket.accept() {
                    Ok(stream) => {
                        let answer = if listener.http { Vec::new() } else { shared.to_json().into_bytes() };
                        let (request, written, end) = (Vec::new(), 0, now + PATIENCE);
                        let mut new = Connection { stream, listener: at, request, answer, written, end };
                        if new.step(shared) {
                            connections.push(new);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(_) => {
                        pause_until = now + Duration::from_secs(1);
                        break;
                    }
                }
            }
        }
    }
}

impl Connection {
    /// Reads or writes what can be read or written now. Returns false if the connection is over.
    fn step(&mut self, shared: &Shared) -> bool {
        if self.answer.is_empty() {
            let mut bytes = [0; REQUEST];
            match self.stream.read(&mut bytes) {
                Ok(0) => return false,
                Ok(len) => self.request.extend_from_slice(&bytes[..len]),
                Err(error) => return is_temporary(&error),
            }
            let Some(answer) = answer(&self.request, shared) else { return true };
            self.answer = answer;
        }
        while self.written < self.answer.len() {
            match self.stream.write(&self.answer[self.written..]) {
                Ok(0) => return false,
                Ok(len) => self.written += len,
                Err(error) => return is_temporary(&error),
            }
        }
        false
    }
}

fn is_temporary(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

/// Returns the answer to an HTTP request, or `None` if the request is not complete.
fn answer(request: &[u8], shared: &Shared) -> Option<Vec<u8>> {
    let response = |status: &str, body: &str, shows_body: bool| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        Some([head.as_bytes(), if shows_body { body.as_bytes() } else { b"" }].concat())
    };
    let is_complete = request.windows(4).any(|end| end == b"\r\n\r\n");
    if !is_complete {
        let too_long = request.len() >= REQUEST;
        return if too_long { response("431 Request Header Fields Too Large", "", true) } else { None };
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    match (method, path) {
        (b"GET" | b"HEAD", b"/metrics") => response("200 OK", &prometheus::write(shared), method == b"GET"),
        (b"GET" | b"HEAD", _) => {
            response("404 Not Found", "The statistics are at /metrics.\n", method == b"GET")
        }
        _ => response("405 Method Not Allowed", "", true),
    }
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::Identity;
    use super::*;

    fn shared() -> Arc<Shared> {
        let identity = Identity { mode: "host", dev: "eth0".into(), transport: "ec4".into() };
        Arc::new(Shared::new(identity))
    }

    fn path(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("cw-stats-{}-{name}.sock", std::process::id()))
    }

    #[test]
    fn an_http_request_is_answered_when_it_is_complete_and_refused_when_it_is_too_long() {
        let shared = shared();
        let first = |request: &[u8]| {
            let answer = answer(request, &shared)?;
            String::from_utf8_lossy(&answer).lines().next().map(str::to_owned)
        };
        assert_eq!(first(b"GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        assert_eq!(first(b"GET /metrics HTTP/1.1\r\n\r\n").as_deref(), Some("HTTP/1.1 200 OK"));
        assert_eq!(first(b"GET /metrics?x=1 HTTP/1.0\r\n\r\n").as_deref(), Some("HTTP/1.1 200 OK"));
        assert_eq!(first(b"GET / HTTP/1.1\r\n\r\n").as_deref(), Some("HTTP/1.1 404 Not Found"));
        assert_eq!(
            first(b"POST /metrics HTTP/1.1\r\n\r\n").as_deref(),
            Some("HTTP/1.1 405 Method Not Allowed")
        );
        assert_eq!(first(b"\xff\x00\r\n\r\n").as_deref(), Some("HTTP/1.1 405 Method Not Allowed"));
        let long = first(&[b'x'; REQUEST]);
        assert_eq!(long.as_deref(), Some("HTTP/1.1 431 Request Header Fields Too Large"));
    }

    #[test]
    fn silent_clients_of_one_socket_keep_nobody_from_another_and_are_dropped_in_time() {
        let (stats, http) = (path("a"), path("b"));
        let mut server = Server::default();
        server.listen(&stats).expect("free");
        server.listen_http(&Endpoint::Unix(http.clone())).expect("free");
        server.start(shared()).expect("a thread");
        let silent: Vec<_> = (0..CONNECTIONS).map(|_| UnixStream::connect(&http).expect("queued")).collect();
        let mut told = String::new();
        UnixStream::connect(&stats).expect("free").read_to_string(&mut told).expect("told");
        assert!(
            told.starts_with('{') && told.ends_with("}\n") && told.contains("\"dev\":\"eth0\""),
            "{told}"
        );
        let mut late = UnixStream::connect(&http).expect("queued");
        late.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("sent");
        let mut answer = String::new();
        late.read_to_string(&mut answer).expect("answered after the silent ones were dropped");
        assert!(answer.contains("\nclearway_uptime_seconds{dev=\"eth0\"} 0\n"), "{answer}");
        drop(silent);
        drop(server);
        assert!(!stats.exists() && !http.exists());
    }

    #[test]
    fn the_socket_is_for_its_owner_alone_and_one_that_was_left_over_is_replaced() {
        use std::os::unix::fs::PermissionsExt;
        let path = path("c");
        drop(UnixListener::bind(&path).expect("free"));
        let mut server = Server::default();
        server.listen(&path).expect("the socket of a dead daemon is replaced");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert!(Server::default().listen(&path).is_err(), "somebody listens there");
    }
}
