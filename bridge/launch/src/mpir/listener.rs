//! Where ranks report: sockets that take a message of who has the token, and of nobody else.
//!
//! Ranks of this host come by a Unix socket without a file, so that nothing is left whatever ends this process. Everybody on the host may
//! connect to such a socket: connections of other users are closed before anything is read. For ranks of other hosts, and only where there
//! are to be some, a TCP socket listens on the addresses that these hosts reach this one by.

use std::io::{self, Read};
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use qmpi_mpir::message::{Kind, Message, Received};
use qmpi_mpir::{GO, LIMIT, VARIABLE};
use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;

use crate::environment::EnvironmentVariable;
use crate::mpir::table::{MpirProcess, RankReport};

/// A connection that has said nothing complete for so long is closed.
const PATIENCE: Duration = Duration::from_secs(5);

/// So many connections that have shown no token are kept at a time.
const UNKNOWN: usize = 1024;

/// The sockets.
pub struct Listener {
    local: UnixListener,
    network: Vec<TcpListener>,
    token: String,
    name: String,
}

/// A process that has connected.
pub(super) struct RankConnection {
    stream: OwnedFd,
    received: Vec<u8>,
    began: Instant,
    /// The number of the process, where the kernel tells it.
    pid: Option<i32>,
    /// Who it is, once it has said so.
    pub(super) process: Option<MpirProcess>,
}

/// What came of a look at a connection.
pub(super) enum News {
    /// Nothing yet.
    None,
    /// It is to be dropped.
    End,
    /// A process says who it is.
    Rank(RankReport),
    /// A process has called MPI_Abort with this code.
    Abort(RankReport, i32),
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
    /// Listens for ranks of this host, and on these addresses for those of others.
    ///
    /// # Errors
    /// Of the sockets.
    pub fn open(addresses: &[IpAddr]) -> io::Result<Listener> {
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

    /// The variable that tells ranks where to report.
    ///
    /// # Errors
    /// Of `getsockname`.
    pub fn variable(&self) -> io::Result<EnvironmentVariable> {
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
        Ok(EnvironmentVariable { name: VARIABLE, value: address })
    }

    /// What to wait for.
    pub(super) fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.local.as_fd()).chain(self.network.iter().map(AsFd::as_fd))
    }

    /// Takes those that have connected.
    pub(super) fn accept(&self, connections: &mut Vec<RankConnection>) {
        let own = rustix::process::getuid();
        let mut unknown = connections.iter().filter(|connection| connection.process.is_none()).count();
        while unknown < UNKNOWN {
            let Ok((stream, _)) = self.local.accept() else { break };
            if let Ok(peer) = socket_peercred(&stream)
                && peer.uid == own
            {
                let pid = Some(peer.pid.as_raw_nonzero().get());
                unknown += usize::from(RankConnection::add(connections, stream.into(), pid));
            }
        }
        for listener in &self.network {
            while unknown < UNKNOWN {
                let Ok((stream, _)) = listener.accept() else { break };
                unknown += usize::from(RankConnection::add(connections, stream.into(), None));
            }
        }
    }

    /// Reads what has come on a connection.
    pub(super) fn read(&self, connection: &mut RankConnection) -> News {
        let mut bytes = [0; 4096];
        loop {
            let count = match rustix::io::read(&connection.stream, &mut bytes) {
                Ok(0) => return News::End,
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return connection.unless_late(),
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
                    let report = RankReport::new(&message, connection.pid);
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

impl RankConnection {
    fn add(connections: &mut Vec<RankConnection>, stream: OwnedFd, pid: Option<i32>) -> bool {
        let is_set = rustix::io::ioctl_fionbio(&stream, true);
        if is_set.is_ok() {
            connections.push(RankConnection {
                stream,
                received: Vec::new(),
                began: Instant::now(),
                pid,
                process: None,
            });
        }
        is_set.is_ok()
    }

    /// What to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Lets the process go on.
    pub(super) fn release(self) {
        // It may be gone.
        let _ = rustix::io::write(&self.stream, &[GO]);
    }

    fn unless_late(&self) -> News {
        if self.process.is_none() && self.began.elapsed() > PATIENCE { News::End } else { News::None }
    }
}
