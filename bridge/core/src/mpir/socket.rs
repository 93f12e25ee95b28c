//! A connection to the command, by system calls: the process's own `socket` and `connect` may be wrapped by tools.
#![expect(unsafe_code, reason = "system calls")]

use std::ffi::{CStr, c_char, c_int, c_long};

use qmpi_mpir::address::Endpoint;

/// Seconds that a connection over the network may take; a host that is not there answers nothing.
const PATIENCE: i64 = 5;

/// An open connection; it does not outlive an `exec`.
pub(super) struct Connection(usize);

fn call(number: c_long, arguments: [usize; 6]) -> Option<usize> {
    let [a, b, c, d, e, f] = arguments;
    loop {
        // SAFETY: the callers below hand over memory that lives as long as the call, and its size.
        let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
        if let Ok(result) = usize::try_from(result) {
            return Some(result);
        }
        // SAFETY: no requirements.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: the thread's own variable.
        if unsafe { errno.read() } != libc::EINTR {
            return None;
        }
    }
}

fn at<T>(value: &T) -> usize {
    std::ptr::from_ref(value).expose_provenance()
}

impl Connection {
    fn open(family: c_int) -> Option<Connection> {
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        call(libc::SYS_socket, [family as usize, kind as usize, 0, 0, 0, 0]).map(Connection)
    }

    fn connected<T>(self, address: &T, len: usize) -> Option<Connection> {
        call(libc::SYS_connect, [self.0, at(address), len, 0, 0, 0])?;
        Some(self)
    }

    fn set<T>(&self, level: c_int, option: c_int, value: &T) {
        let arguments = [self.0, level as usize, option as usize, at(value), size_of::<T>(), 0];
        // What cannot be set is left as it is.
        let _ = call(libc::SYS_setsockopt, arguments);
    }

    /// To the Unix socket of this name, which has no file: it begins with a zero.
    pub(super) fn to_name(name: &[u8]) -> Option<Connection> {
        let mut address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
        let place = address.sun_path.get_mut(1..=name.len())?;
        for (place, byte) in place.iter_mut().zip(name) {
            *place = c_char::from_ne_bytes([*byte]);
        }
        Connection::open(libc::AF_UNIX)?.connected(&address, size_of::<u16>() + 1 + name.len())
    }

    /// To a host.
    pub(super) fn to_network(endpoint: Endpoint) -> Option<Connection> {
        let family = if matches!(endpoint, Endpoint::V4(..)) { libc::AF_INET } else { libc::AF_INET6 };
        let connection = Connection::open(family)?;
        let patience = libc::timeval { tv_sec: PATIENCE, tv_usec: 0 };
        connection.set(libc::SOL_SOCKET, libc::SO_SNDTIMEO, &patience);
        // A host that is gone does not say so.
        connection.set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1_i32);
        for (option, seconds) in [(libc::TCP_KEEPIDLE, 10_i32), (libc::TCP_KEEPINTVL, 5), (libc::TCP_KEEPCNT, 3)] {
            connection.set(libc::IPPROTO_TCP, option, &seconds);
        }
        // A `sockaddr_in`, 16 bytes with zeros at the end, or a `sockaddr_in6` without flow and scope.
        let mut words = [0_u8; size_of::<libc::sockaddr_in6>()];
        words[..2].copy_from_slice(&(family as u16).to_ne_bytes());
        let len = match endpoint {
            Endpoint::V4(address, port) => {
                words[2..4].copy_from_slice(&port);
                words[4..8].copy_from_slice(&address);
                size_of::<libc::sockaddr_in>()
            }
            Endpoint::V6(address, port) => {
                words[2..4].copy_from_slice(&port);
                words[8..24].copy_from_slice(&address);
                words.len()
            }
        };
        connection.connected(&words, len)
    }

    /// Sends all of it; MSG_NOSIGNAL: the other side may be gone.
    pub(super) fn send(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            let place = bytes.as_ptr().expose_provenance();
            let arguments = [self.0, place, bytes.len(), libc::MSG_NOSIGNAL as usize, 0, 0];
            let Some(rest) = call(libc::SYS_sendto, arguments).and_then(|sent| bytes.get(sent..)) else { return false };
            bytes = rest;
        }
        true
    }

    /// Waits for a byte; `None` at the end.
    pub(super) fn receive(&self) -> Option<u8> {
        let mut byte = 0_u8;
        let place = (&raw mut byte).expose_provenance();
        let count = call(libc::SYS_recvfrom, [self.0, place, 1, 0, 0, 0])?;
        (count == 1).then_some(byte)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = call(libc::SYS_close, [self.0, 0, 0, 0, 0, 0]);
    }
}

/// Shows the name of this host.
pub(super) fn with_host(show: impl FnOnce(&[u8])) {
    let mut words = [0_u8; size_of::<libc::utsname>()];
    let place = words.as_mut_ptr().expose_provenance();
    let _ = call(libc::SYS_uname, [place, 0, 0, 0, 0, 0]);
    // The second of fields that are equally long.
    let field = words.get(words.len() / 6..).unwrap_or_default();
    show(CStr::from_bytes_until_nul(field).unwrap_or_default().to_bytes());
}
