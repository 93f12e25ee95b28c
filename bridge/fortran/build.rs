//! How libqmpi_fortran.so is linked: its names and its references are nearly all of it.

fn main() {
    let link = |argument: &str| println!("cargo::rustc-cdylib-link-arg={argument}");
    link("-Wl,--strip-all");
    // The `libc` crate leaves this to `std` as soon as another crate of the build wants its feature `std`.
    link("-lc");
    link("-Wl,--hash-style=gnu");
    // Spellings are jumps to each other.
    link("-Wl,-Bsymbolic");
    println!("cargo::rerun-if-changed=build.rs");
}
