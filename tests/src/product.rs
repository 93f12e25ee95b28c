//! The command and the runtime under test: what `cargo build --release` leaves in `target/release`.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
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

fn built(name: &str) -> PathBuf {
    let path = target().join("release").join(name);
    assert!(path.exists(), "{} is missing: run `cargo build --release --workspace` first", path.display());
    path
}
