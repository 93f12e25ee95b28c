//! Look-ups of MPI's functions by the handle of a plugin: `dlsym(dlopen("module.so"), "MPI_Send")`.
//!
//! `dlsym` searches the plugin and what that is linked with. Under `LD_PRELOAD` the search ends at the MPI library, unless the plugin, or a
//! library that it needs, has a definition of its own; tools with modules (PnMPI) compare the two. In a namespace the head stands for the
//! MPI library, and has the tool among what it needs: glibc would go on to the tool's wrapper.

use core::ffi::{CStr, c_void};

use qmpi_dynamic::objects;

use crate::link_map::{DEEPEST, Handle, LinkMap};
use crate::namespace::Namespace;

/// Is `handle` that of a library that the tool has opened, and would the search by it reach the MPI library, and no other definition of
/// `name`?
pub(crate) fn reaches_mpi(namespace: &Namespace, handle: *mut c_void, name: &CStr) -> bool {
    let look = || {
        let plugin = namespace.opened_maps().find(|map| Handle::of(map).0 == handle)?;
        let mut search = PluginSearch { namespace, name, reaches_mpi: false, is_defined: false };
        search.look_in(plugin, 0);
        Some(search.reaches_mpi && !search.is_defined)
    };
    // Another thread may close a library: inside of the callback `ld.so` holds the lock of its list.
    objects::find(|_| Some(look())).flatten() == Some(true)
}

struct PluginSearch<'a> {
    namespace: &'a Namespace,
    name: &'a CStr,
    reaches_mpi: bool,
    is_defined: bool,
}

impl PluginSearch<'_> {
    fn look_in(&mut self, map: &'static LinkMap, depth: usize) {
        let Some(mapped) = map.mapped().filter(|_| depth < DEEPEST) else { return };
        self.is_defined |= map.defines(self.name);
        for needed in mapped.tables().needed() {
            if self.namespace.has_mpi_provider(needed) {
                self.reaches_mpi = true;
            } else {
                let is_it = |map: &&'static LinkMap| !self.namespace.is_provider(map) && map.is_named(needed);
                if let Some(map) = self.namespace.maps().find(is_it) {
                    self.look_in(map, depth.saturating_add(1));
                }
            }
        }
    }
}
