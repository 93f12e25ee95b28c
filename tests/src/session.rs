//! Where the launchers of Open MPI keep the sockets and files of a job.
//!
//! All jobs of a user share one directory below `/tmp`, and that goes wrong in two ways. Tests run in threads or processes, and each has a
//! directory of its own.
//!
//! - Open MPI 4: the first job creates the shared directory and the last removes it. Of two that start at the same instant one fails ("mkdir: File
//!   exists").
//! - Open MPI 5: a launcher has a directory named after its process number, `/tmp/ompi.11701`, with a file `pmix.HOST.tool.11701`, and does
//!   not start if that file is there already ("The PMIx server's listener thread failed to start", status 213). A launcher that is killed, as
//!   some tests do, leaves it. Process numbers come round again: 32,768 are a few runs of all tests.

use tempfile::TempDir;

thread_local! {
    static DIRECTORY: Option<TempDir> = tempfile::Builder::new().prefix("qmpi").tempdir().ok();
}

/// The variables that say so to Open MPI 4 and 5, and their value. The name is short: sockets have paths of 108 bytes at most.
pub(crate) fn variables() -> [(&'static str, String); 2] {
    let directory = DIRECTORY.with(|directory| directory.as_ref().map(|directory| directory.path().to_owned()));
    let directory = directory.unwrap_or_else(std::env::temp_dir).display().to_string();
    [("OMPI_MCA_orte_tmpdir_base", directory.clone()), ("PRTE_MCA_prte_tmpdir_base", directory)]
}
