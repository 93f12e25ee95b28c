//! RLIMIT_FSIZE (`ulimit -f`): a write past it is SIGXFSZ, which ends the process (setrlimit(2)). Files in memory count as well. So each file
//! that is to become longer is compared with the limit first.
#![expect(unsafe_code, reason = "asks for a limit of the process")]

use std::io;

/// May a file of this process become so long?
///
/// # Errors
/// [`io::ErrorKind::FileTooLarge`], with both numbers.
pub fn check(bytes: u64) -> io::Result<()> {
    let most = most();
    if bytes <= most {
        return Ok(());
    }
    let text = format!("{bytes} bytes are needed, and a file may have {most} here (ulimit -f)");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, text))
}

/// How many bytes a file of this process may have. Allocates nothing.
pub fn most() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` has room for what the call stores. Of a known resource it does not fail.
    unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) };
    limit.rlim_cur
}
