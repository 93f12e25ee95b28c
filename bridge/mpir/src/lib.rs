//! What a rank tells `qmpi run --mpir`, and where: shared by `libqmpi_core.so`, which tells it, and the command, which is told.
//!
//! ```text
//! QMPI_MPIR   TOKEN@NAME[,ENDPOINT]...         NAME: a Unix socket without a file (abstract); for ranks of other hosts: TCP
//! message     length of the rest, four bytes, the lowest first
//!             TOKEN \0 CODE \0 PID \0 HOST \0 EXECUTABLE \0 [NAME=VALUE \0]...
//!             CODE: of MPI_Abort, which the process has called; empty: the process is there
//! answer      GO, once the process may go on; a connection that ends means the same
//! ```
//!
//! The variables are those of launchers (`qmpi_plan::told_by_launchers`) that the process has: what they say is decided by the command alone.

pub mod address;
pub mod message;

/// The variable that tells ranks where to report.
pub const VARIABLE: &str = "QMPI_MPIR";

/// Bytes of the token: 128 random bits in hexadecimal.
pub const TOKEN: usize = 32;

/// No message is longer; what does not fit is left out.
pub const LIMIT: usize = 12 * 1024;

/// The answer.
pub const GO: u8 = b'g';
