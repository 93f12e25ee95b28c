//! A connection to the command, by system calls: the process's own `socket` and `connect` may be wrapped by tools.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{self, retry_on_intr};
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

/// How long a connection over the network may take; a host that is not there answers nothing.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open connection; it does not outlive an `exec`.
pub(super) struct Connection(OwnedFd);

fn open(family: AddressFamily) -> io::Result<OwnedFd> {
    net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// For hosts that are gone, and do not say so. What cannot be set is left as it is.
fn notice_the_end(socket: &OwnedFd) -> io::Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, Duration::from_secs(10))?;
    sockopt::set_tcp_keepintvl(socket, Duration::from_secs(5))?;
    sockopt::set_tcp_keepcnt(socket, 3)
}

impl Connection {
    /// To the Unix socket of this name, which has no file.
    pub(super) fn to_name(name: &str) -> io::Result<Connection> {
        let (socket, address) = (open(AddressFamily::UNIX)?, SocketAddrUnix::new_abstract_name(name.as_bytes())?);
        retry_on_intr(|| net::connect(&socket, &address))?;
        Ok(Connection(socket))
    }

    /// To a host.
    pub(super) fn to_network(address: SocketAddr) -> io::Result<Connection> {
        let socket = open(if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 })?;
        let _ = sockopt::set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE));
        let _ = notice_the_end(&socket);
        retry_on_intr(|| net::connect(&socket, &address))?;
        Ok(Connection(socket))
    }

    /// Sends all of it; MSG_NOSIGNAL: the other side may be gone.
    pub(super) fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            bytes = &bytes[retry_on_intr(|| net::send(&self.0, bytes, SendFlags::NOSIGNAL))?..];
        }
        Ok(())
    }

    /// Waits for a byte; `None` at the end.
    pub(super) fn receive(&self) -> Option<u8> {
        let mut byte = [0];
        let (count, _) = retry_on_intr(|| net::recv(&self.0, &mut byte, RecvFlags::empty())).ok()?;
        (count == 1).then_some(byte[0])
    }
}
