//! How libqmpi.so is linked.

fn main() {
    // Neither debug information nor names of its own functions: they would be most of the file.
    println!("cargo::rustc-cdylib-link-arg=-Wl,--strip-all");
    println!("cargo::rerun-if-changed=build.rs");
}
