//! A build of `libqmpi.so` and `libqmpi_core.so` with defects that the tests under valgrind have to find: without it, a test that
//! finds nothing may as well be blind.
//!
//! The sources are the product's own, compiled with `--cfg planted`, which adds a file `planted.rs` to the entry library, the core and
//! the loader. It is no feature of a crate, so that no build of the product has it by
//! accident; and it is in a directory of its own, `target/planted`.

use std::path::PathBuf;
use std::process::Command;

use crate::product;

/// Builds them, and returns where `libqmpi.so` is.
///
/// # Panics
/// When they do not compile.
pub fn runtime() -> PathBuf {
    let directory = product::target().join("planted");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args([
            "build",
            "--quiet",
            "--locked",
            "-p",
            "qmpi-entry",
            "-p",
            "qmpi-core",
            "-p",
            "qmpi-recorder",
            "--target-dir",
        ])
        .arg(&directory);
    // Which function an access is in, and nothing else.
    command.args(["--config", "profile.dev.debug=\"line-tables-only\""]);
    command.current_dir(product::root()).env("RUSTFLAGS", "--cfg planted").env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    directory.join("debug/libqmpi.so")
}
