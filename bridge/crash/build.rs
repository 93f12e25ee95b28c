//! How libqmpi_crash.so is linked: as libqmpi.so, beside which it is preloaded.

fn main() {
    let link = |argument: &str| println!("cargo::rustc-cdylib-link-arg={argument}");
    link("-Wl,--strip-all");
    // The `libc` crate leaves this to `std` as soon as another crate of the build wants its feature `std`.
    link("-lc");
    // Libraries of their own before glibc 2.34.
    link("-Wl,--as-needed");
    link("-ldl");
    link("-lpthread");
    // Nothing is left to be bound in a handler.
    link("-Wl,-z,now");
    // Code that may panic refers to functions of `std`, which is not there.
    link("-Wl,-z,defs");
    link("-Wl,--hash-style=gnu");
    println!("cargo::rerun-if-changed=build.rs");
}
