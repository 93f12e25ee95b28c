//! Where ranks report: sockets that take a message of who has the token, and of nobody else.
//!
//! Ranks of this host come by a Unix socket without a file, so that nothing is left whatever ends this process. Everybody on the host may
//! connect to such a socket: connections of other users are closed before anything is read. For ranks of other hosts, and only where there
//! are to be some, a TCP socket listens on the addresses that these hosts reach this one by.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use qmpi_mpir::message::{Kind, Message, Received};
use qmpi_mpir::{GO, LIMIT};
use rustix::net::sockopt::socket_peercred;

use crate::mpir::table::{Process, Report};

/// A connection that has said nothing complete for so long is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// So many connections that have shown no token are kept at a time.
const UNKNOWN: usize = 1024;

/// The sockets.
pub(super) struct Listener {
    local: UnixListener,
    network: Vec<TcpListener>,
    token: String,
    name: String,
}

enum Stream {
    Local(UnixStream),
    Network(TcpStream),
}

/// A process that has connected.
pub(super) struct Connection {
    stream: Stream,
    received: Vec<u8>,
    began: Instant,
    /// The number of the process, where the kernel tells it.
    pid: Option<i32>,
    /// Who it is, once it has said so.
    pub(super) process: Option<Process>,
}

/// What came of a look at a connection.
pub(super) enum News {
    /// Nothing yet.
    None,
    /// It is to be dropped.
    End,
    /// A process says who it is.
    Rank(Report),
    /// A process has called MPI_Abort with this code.
    Abort(Report, i32),
}

/// So many random bytes, in hexadecimal.
fn random<const N: usize>() -> io::Result<String> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hexadecimal(&bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Listener {
    /// Listens; on these addresses as well.
    ///
    /// # Errors
    /// Of the sockets.
    pub(super) fn open(addresses: &[IpAddr]) -> io::Result<Listener> {
        let (token, name) = (random::<16>()?, format!("qmpi-mpir-{}", random::<8>()?));
        let local = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
        local.set_nonblocking(true)?;
        let network =
            addresses.iter().map(|address| TcpListener::bind((*address, 0))).collect::<io::Result<Vec<_>>>()?;
        for listener in &network {
            listener.set_nonblocking(true)?;
        }
        Ok(Listener { local, network, token, name })
    }

    /// What ranks are told.
    ///
    /// # Errors
    /// Of `getsockname`.
    pub(super) fn address(&self) -> io::Result<String> {
        let mut address = format!("{}@{}", self.token, self.name);
        for listener in &self.network {
            let endpoint = listener.local_addr()?;
            let ip = match endpoint.ip() {
                IpAddr::V4(ip) => ip.octets().to_vec(),
                IpAddr::V6(ip) => ip.octets().to_vec(),
            };
            address.push(',');
            address.push_str(&hexadecimal(&[&ip[..], &endpoint.port().to_be_bytes()].concat()));
        }
        Ok(address)
    }

    /// What to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.local.as_fd()).chain(self.network.iter().map(AsFd::as_fd))
    }

    /// Takes those that have connected.
    pub(super) fn accept(&self, connections: &mut Vec<Connection>) {
        let own = rustix::process::getuid();
        let mut unknown = connections.iter().filter(|connection| connection.process.is_none()).count();
        while unknown < UNKNOWN {
            let Ok((stream, _)) = self.local.accept() else { break };
            if let Ok(peer) = socket_peercred(&stream)
                && peer.uid == own
            {
                let pid = Some(peer.pid.as_raw_nonzero().get());
                unknown += usize::from(Connection::add(connections, Stream::Local(stream), pid));
            }
        }
        for listener in &self.network {
            while unknown < UNKNOWN {
                let Ok((stream, _)) = listener.accept() else { break };
                unknown += usize::from(Connection::add(connections, Stream::Network(stream), None));
            }
        }
    }

    /// Reads what has come on a connection.
    pub(super) fn read(&self, connection: &mut Connection) -> News {
        let mut bytes = [0; 4096];
        loop {
            let count = match connection.stream.read(&mut bytes) {
                Ok(0) => return News::End,
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return connection.unless_late(),
                Err(_) => return News::End,
            };
            if connection.process.is_some() || connection.received.len() > LIMIT {
                return News::End;
            }
            connection.received.extend_from_slice(&bytes[..count]);
            match Message::read(&connection.received, &self.token) {
                Received::Incomplete => {}
                Received::Refused => return News::End,
                Received::Complete(message) => {
                    let report = Report::new(&message, connection.pid);
                    connection.process = Some(report.process.clone());
                    return match message.kind {
                        Kind::Rank => News::Rank(report),
                        Kind::Abort => News::Abort(report, message.code),
                    };
                }
            }
        }
    }
}

impl Connection {
    fn add(connections: &mut Vec<Connection>, stream: Stream, pid: Option<i32>) -> bool {
        let is_set = match &stream {
            Stream::Local(stream) => stream.set_nonblocking(true),
            Stream::Network(stream) => stream.set_nonblocking(true),
        };
        if is_set.is_ok() {
            connections.push(Connection { stream, received: Vec::new(), began: Instant::now(), pid, process: None });
        }
        is_set.is_ok()
    }

    /// What to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.stream {
            Stream::Local(stream) => stream.as_fd(),
            Stream::Network(stream) => stream.as_fd(),
        }
    }

    /// Lets the process go on.
    pub(super) fn release(mut self) {
        // It may be gone.
        let _ = match &mut self.stream {
            Stream::Local(stream) => stream.write_all(&[GO]),
            Stream::Network(stream) => stream.write_all(&[GO]),
        };
    }

    fn unless_late(&self) -> News {
        if self.process.is_none() && self.began.elapsed() > PATIENCE { News::End } else { News::None }
    }
}

impl Read for Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Local(stream) => stream.read(bytes),
            Stream::Network(stream) => stream.read(bytes),
        }
    }
}
