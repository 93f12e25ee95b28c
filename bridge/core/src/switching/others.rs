//! Wrappers of functions that are not MPI's, of a layer that can be switched: calls go past them as well.

use std::collections::HashMap;
use std::ffi::CStr;

use qmpi_links::require_stub;
use qmpi_links::switch::Switch;
use qmpi_loader::process::dlsym;
use qmpi_loader::wrappers::wrapped::LibraryWrapper;
use qmpi_plan::own_calls::other_always_passes_on;

/// Functions that begin or end what a tool has to know of for as long as it is there: threads, libraries.
const ALWAYS: [&CStr; 5] = [c"dlclose", c"dlmopen", c"dlopen", c"pthread_create", c"thrd_create"];

/// Puts the switch in front of the layer's wrappers. `below`: what each function is below the layer, where a layer wraps it.
///
/// Left as they are: the allocator's functions, since a block may be given back at any time; those that end the process; and
/// functions that nothing else in the process defines.
pub(crate) fn behind_switch(wrapped: &mut [LibraryWrapper], switch: Switch, below: &HashMap<&'static CStr, usize>) {
    for function in wrapped {
        let is_needed = ALWAYS.contains(&function.name) || function.name.to_str().is_ok_and(other_always_passes_on);
        let next = || below.get(function.name).copied().or_else(|| dlsym::global(function.name));
        let Some(next) = (!is_needed).then(next).flatten() else { continue };
        let link = |address: usize| require_stub(switch.other(address, next)).address;
        let old = function.address;
        function.address = link(old);
        for (_, address) in &mut function.versions {
            *address = if *address == old { function.address } else { link(*address) };
        }
    }
}
