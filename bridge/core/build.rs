//! What libqmpi_core.so knows of its build.

include!("../ring/identity.rs");

fn main() {
    identify();
}
