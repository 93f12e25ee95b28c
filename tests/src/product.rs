//! What is tested: what `cargo build --release` leaves in `target/release`, the headers, and what is generated.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifact;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Where cargo builds: where a link leads to. In a clone whose path cannot stand in `LD_PRELOAD`, `target` is one (`ci/place`).
pub fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    target.canonicalize().unwrap_or(target)
}

/// The command `qmpi`.
///
/// # Panics
/// When it is not built; the message says how.
pub fn command() -> PathBuf {
    built("qmpi")
}

/// The runtime `libqmpi.so`.
///
/// # Panics
/// When it is not built; the message says how.
pub fn runtime() -> PathBuf {
    built("libqmpi.so")
}

/// The bridge as a QMPI tool, `libqmpi_bridge.so`.
///
/// # Panics
/// When it is not built; the message says how.
pub fn plugin() -> PathBuf {
    built("libqmpi_bridge.so")
}

/// The generator, `shim-gen`.
///
/// # Panics
/// When it is not built; the message says how.
pub fn generator() -> PathBuf {
    built("shim-gen")
}

/// A tool for all functions of a header, written by `shim-gen KIND` into a directory, as `NAME.c`.
///
/// # Panics
/// When it cannot be written.
pub fn generated(header: &Path, directory: &Path, kind: &str, name: &str) -> PathBuf {
    let output = Command::new(generator()).arg(kind).arg("--header").arg(header).output();
    let output = output.unwrap_or_else(|error| panic!("shim-gen: {error}"));
    assert!(output.status.success(), "shim-gen {kind}: {}", String::from_utf8_lossy(&output.stderr));
    let path = directory.join(format!("{name}.c"));
    artifact::write_source(&path, &output.stdout);
    path
}

/// The headers for tools: what includes them is built again where one of them has changed.
pub fn headers() -> [PathBuf; 3] {
    ["qmpi.h", "qmpix.h", "qmpi_thesis.h"].map(|name| root().join("bridge/include").join(name))
}

fn built(name: &str) -> PathBuf {
    let path = target().join("release").join(name);
    assert!(path.exists(), "{} is missing: run `cargo build --release` first", path.display());
    path
}
