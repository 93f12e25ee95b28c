//! Where ranks report: sockets that take a message of who has the token, and of nobody else.
//!
//! Ranks of this host come by a Unix socket without a file, so that nothing is left whatever ends this process. Everybody on the host may
//! connect to such a socket: connections of other users are closed before anything is read. For ranks of other hosts, and only where there
//! are to be some, a TCP socket listens on the addresses that these hosts reach this one by.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::{Duration, Instant};

use qmpi_mpir::message::{Message, Received};
use qmpi_mpir::{GO, LIMIT, VARIABLE};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{SocketFlags, accept_with};

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
    stream: File,
    received: Vec<u8>,
    began: Instant,
    /// The number of the process, where the kernel tells it.
    pid: Option<u32>,
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
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
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
        let mut unknown = connections.iter().filter(|connection| connection.process.is_none()).count();
        for (place, listener) in self.descriptors().enumerate() {
            while unknown < UNKNOWN
                && let Ok(stream) = accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)
            {
                // Of processes of this host the kernel tells which ones they are.
                let pid = if place == 0 { own_process(&stream) } else { None };
                if place > 0 || pid.is_some() {
                    let (stream, received, began) = (File::from(stream), Vec::new(), Instant::now());
                    connections.push(RankConnection { stream, received, began, pid, process: None });
                    unknown += 1;
                }
            }
        }
    }

    /// Reads what has come on a connection.
    pub(super) fn read(&self, connection: &mut RankConnection) -> News {
        let before = connection.received.len();
        // More than any message has.
        let mut stream = (&connection.stream).take(2 * LIMIT as u64);
        let read = stream.read_to_end(&mut connection.received);
        let is_open = read.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
        if connection.process.is_some() {
            return if is_open && connection.received.len() == before { News::None } else { News::End };
        }
        match Message::read(&connection.received, &self.token) {
            Received::Incomplete if is_open && connection.began.elapsed() <= PATIENCE => News::None,
            Received::Incomplete | Received::Refused => News::End,
            Received::Complete(message) => {
                let report = RankReport::new(&message, connection.pid);
                connection.process = Some(report.process.clone());
                match message.abort {
                    None => News::Rank(report),
                    Some(code) => News::Abort(report, code),
                }
            }
        }
    }
}

/// The number of the process at the other end of a Unix socket, if it is this user's.
fn own_process(stream: &OwnedFd) -> Option<u32> {
    let peer = socket_peercred(stream).ok().filter(|peer| peer.uid == rustix::process::getuid())?;
    Some(peer.pid.as_raw_nonzero().get().unsigned_abs())
}

impl RankConnection {
    /// What to wait for.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }

    /// Lets the process go on.
    pub(super) fn release(mut self) {
        // It may be gone.
        let _ = self.stream.write(&[GO]);
    }
}
