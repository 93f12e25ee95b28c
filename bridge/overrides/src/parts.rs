//! Tools of several files: the next definition of a name may be in the next file, as in a list in LD_PRELOAD.
//!
//! ```text
//! first object   libinit.so   libtool.so   providers, libraries
//!                \ files of the tool    /
//! ```
//!
//! `dlsym(RTLD_NEXT, ...)` of a file finds what the files behind it define; only what none of them has comes from the layer below.

use core::ffi::CStr;

use crate::link_map::LinkMap;
use crate::namespace::Namespace;

/// Does a file of the tool that stands behind the one with the code at `caller` define the name? `before` files stand before the
/// tool's own.
pub(crate) fn defines_behind(namespace: &Namespace, before: usize, caller: usize, name: &CStr) -> bool {
    if before == 0 {
        return false;
    }
    // They are the first that the first object needs.
    let parts = namespace.first_maps().skip(1).take(before.saturating_add(1));
    LinkMap::defined_behind(parts, caller, name) == Some(true)
}
