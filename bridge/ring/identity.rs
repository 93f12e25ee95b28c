// Part of the build scripts of libqmpi.so and libqmpi_core.so: what both are made of, as a number that is the same in both libraries of one
// build, and in no others. By it the core refuses a libqmpi.so that is not its own (`Ring::build`).
//
// It is a hash of the sources of both, of the compiler and of what it compiles for: the same sources give it again, in any
// directory, with git or without.

use std::hash::{Hash, Hasher};

/// Sets `QMPI_BUILD` for the crate to the number, in 16 digits.
fn identify() {
    // Crates that are in neither library.
    const OTHERS: [&str; 5] = ["cli", "fortran", "launch", "measured", "plugin"];
    let bridge = std::path::Path::new("..");
    let mut crates = entries(bridge);
    crates.retain(|path| path.join("src").is_dir() && !OTHERS.iter().any(|other| path.ends_with(other)));
    let mut hash = std::hash::DefaultHasher::new();
    for path in crates.iter().flat_map(|path| [path.join("Cargo.toml"), path.join("src")]) {
        println!("cargo::rerun-if-changed={}", path.display());
        add(&mut hash, &path);
    }
    println!("cargo::rerun-if-changed=../ring/identity.rs");
    // Types that are not `repr(C)` are laid out as the compiler likes.
    for name in ["CARGO_PKG_VERSION", "TARGET", "PROFILE"] {
        std::env::var(name).unwrap_or_default().hash(&mut hash);
    }
    let compiler = std::process::Command::new(std::env::var_os("RUSTC").expect("RUSTC")).arg("-vV").output();
    compiler.expect("the compiler says its version").stdout.hash(&mut hash);
    println!("cargo::rustc-env=QMPI_BUILD={:016x}", hash.finish());
}

/// A file, or all files of a directory, with their names.
fn add(hash: &mut impl Hasher, path: &std::path::Path) {
    if path.is_dir() {
        entries(path).iter().for_each(|path| add(hash, path));
    } else {
        path.to_string_lossy().hash(hash);
        std::fs::read(path).expect("a source file can be read").hash(hash);
    }
}

fn entries(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).expect("a directory of sources can be read");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}
