//! The headers of real MPI libraries, if they are on this machine.

use std::io::Write as _;
use std::path::PathBuf;

use shim_gen::{Header, Label, Version};

/// Vendor and release of a real header, which is also the name of its directory, and the standard it follows.
///
/// Open MPI 5.0 says 3.1 of itself, but what it adds to 4.1 is from MPI 4.0.
const KNOWN: [(&str, Version); 5] = [
    ("mpich-4.0.2", Version(4, 0)),
    ("openmpi-4.1.4", Version(3, 1)),
    ("mpich-4.3.2", Version(4, 1)),
    ("mpich-5.0.1", Version(5, 0)),
    ("openmpi-5.0.11", Version(4, 0)),
];

/// The include directories below `QMPI_TEST_HEADERS`, in the order that the table is made from them.
///
/// `None`, with a visible reason, if the variable is not set; where `CI=true`, that is a failure.
pub(crate) fn directories() -> Option<Vec<(Label, PathBuf)>> {
    let Some(root) = std::env::var_os("QMPI_TEST_HEADERS").map(PathBuf::from) else {
        let reason = "QMPI_TEST_HEADERS is not set: no real headers to read";
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{reason}");
        // Not eprintln!, which the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
        return None;
    };
    let directories = KNOWN.map(|(name, version)| {
        let path = root.join(name);
        assert!(path.join("mpi.h").is_file(), "{} has no mpi.h", path.display());
        (Label { name: name.to_owned(), version }, path)
    });
    Some(directories.into())
}

/// Reads a header, or an include directory.
pub(crate) fn read(path: &std::path::Path) -> Header {
    Header::read(path).unwrap_or_else(|error| panic!("{error}"))
}
