//! Look-ups of MPI's functions by the handle of a plugin: `dlsym(dlopen("module.so"), "MPI_Send")`.
//!
//! `dlsym` searches the plugin and what that is linked with. Under `LD_PRELOAD` the search ends at the MPI library, unless the plugin, or a
//! library that it needs, has a definition of its own; tools with modules (PnMPI) compare the two. In a namespace the head stands for the
//! MPI library, and has the tool among what it needs: glibc would go on to the tool's wrapper.

use core::ffi::{CStr, c_void};

use qmpi_dynamic::objects;

use crate::link_map::{DEEPEST, Handle, LinkMap, find};
use crate::namespace::Namespace;

/// Is `handle` that of a library that the tool has opened, and would the search by it reach the MPI library, and no other definition of
/// `name`?
pub(crate) fn reaches_mpi(namespace: &Namespace, handle: *mut c_void, name: &CStr) -> bool {
    let search = || {
        let plugin = namespace.opened_maps().find(|map| Handle::of(map).0 == handle)?;
        search(namespace, plugin, name, 0)
    };
    // Another thread may close a library: inside of the callback `ld.so` holds the lock of its list.
    objects::find(|_| Some(search())).flatten() == Some(true)
}

/// Does a search that begins at `map` reach the MPI library? `None`: it finds the name in another library.
fn search(namespace: &Namespace, map: &'static LinkMap, name: &CStr, depth: usize) -> Option<bool> {
    let Some(mapped) = map.mapped().filter(|_| depth < DEEPEST) else { return Some(false) };
    if find(&mapped, name).is_some() {
        return None;
    }
    let mut reaches_mpi = false;
    for needed in mapped.tables().needed() {
        let is_it = |map: &&'static LinkMap| !namespace.is_provider(map) && map.is_named(needed);
        if namespace.has_mpi_provider(needed) {
            reaches_mpi = true;
        } else if let Some(map) = namespace.maps().find(is_it) {
            reaches_mpi |= search(namespace, map, name, depth.saturating_add(1))?;
        }
    }
    Some(reaches_mpi)
}
