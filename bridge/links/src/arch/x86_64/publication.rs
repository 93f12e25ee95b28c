//! The order in which other threads see a stub and an address of it.

/// Says that from here on an address of a stub may be stored where machine code reads it, in threads that run: processors of this kind
/// keep their loads in order, so who sees the address sees the stub.
pub const fn publish_stubs() {}
