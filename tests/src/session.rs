//! Where Open MPI 4 keeps the sockets and files of a job.
//!
//! All jobs of a user share one directory, which the first creates and the last removes. Two that start at the same instant
//! both create it, and one of them fails ("mkdir: File exists"). Tests run in threads or processes: each has a directory of its own.

use tempfile::TempDir;

thread_local! {
    static DIRECTORY: Option<TempDir> = tempfile::Builder::new().prefix("qmpi").tempdir().ok();
}

/// The variable that says so to Open MPI, and its value. The name is short: sockets have paths of 108 bytes at most.
pub(crate) fn variable() -> (&'static str, String) {
    let directory = DIRECTORY.with(|directory| directory.as_ref().map(|directory| directory.path().to_owned()));
    ("OMPI_MCA_orte_tmpdir_base", directory.unwrap_or_else(std::env::temp_dir).display().to_string())
}
