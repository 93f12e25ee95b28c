//! How libqmpi.so is linked: small, since it is in every process of a job. And what it knows of its build.

use std::process::Command;

include!("../ring/identity.rs");

fn main() {
    identify();
    let link = |argument: &str| println!("cargo::rustc-cdylib-link-arg={argument}");
    // Neither debug information nor names of its own functions: they would be most of the file.
    link("-Wl,--strip-all");
    // The `libc` crate leaves this to `std` as soon as another crate of the build wants its feature `std`. References without a
    // library would be an error in a process, or have no version.
    link("-lc");
    link("-Wl,-z,defs");
    // One hash table: lld writes both.
    link("-Wl,--hash-style=gnu");
    let linker = std::env::var_os("RUSTC_LINKER");
    // One segment for headers, tables and code: less to map in each process. Zig, which links with lld (`ci/portable`), does so
    // anyway, and refuses the option.
    if linker.as_ref().is_none_or(|linker| !linker.to_string_lossy().contains("zig")) {
        link("-Wl,-z,noseparate-code");
    }
    // GNU ld lets `MPI_Send` be the end of `QMPI_Send` in the string table, which makes it half as long; lld does not. Where another
    // linker is asked for (cross compilation) it stays.
    let has_gnu_ld = Command::new("ld.bfd").arg("--version").output().is_ok_and(|output| output.status.success());
    if linker.is_none() && has_gnu_ld {
        link("-fuse-ld=bfd");
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
}
