//! Functions that a tool in a namespace must not call bare, and what it gets instead.
//!
//! They are entries of the namespace's head, which comes first in its scope, under the versions that glibc has; not those that the tool
//! defines itself. Those that find out who called them (`dlopen`, `dlsym`) end in a jump to glibc's own, so that
//! glibc still sees the tool as the caller.

pub(crate) mod dl_iterate_phdr;
pub(crate) mod dlopen;
pub(crate) mod dlsym;
pub(crate) mod getenv;

use std::ffi::CStr;

use qmpi_elf::write::provider::{Provided, ProvidedVersion};

use crate::error::LoadError;
use crate::links::trampoline;
use crate::namespace::link_map::LinkMap;
use crate::{Instance, arch, namespace};

/// The overrides of one instance: name and address.
pub(crate) fn table(instance: &'static Instance) -> Result<Vec<(&'static CStr, usize)>, LoadError> {
    type Shim = extern "C" fn();
    let shims: [(&'static CStr, Shim); 6] = [
        (c"dlopen", arch::dlopen),
        (c"dlsym", arch::dlsym),
        (c"dlvsym", arch::dlvsym),
        (c"dl_iterate_phdr", arch::dl_iterate_phdr),
        (c"getenv", arch::getenv),
        (c"secure_getenv", arch::secure_getenv),
    ];
    shims.iter().map(|(name, shim)| Ok((*name, trampoline::allocate(*shim, instance)?))).collect()
}

/// The same as symbols of a provider, under the versions of glibc; where these are not yet among `versions`, they are added.
pub(crate) fn symbols(
    instance: &'static Instance,
    versions: &mut Vec<&str>,
) -> Result<Vec<Provided<'static>>, LoadError> {
    let table = table(instance)?;
    let names: Vec<&CStr> = table.iter().map(|(name, _)| *name).collect();
    let known = instance.process.glibc_versions(&names);
    let mut symbols = Vec::new();
    for (name, address) in table {
        let symbol = Provided::function(name, address);
        let before = symbols.len();
        for (_, version) in known.iter().filter(|(known, _)| *known == name) {
            let Ok(text) = version.name.to_str() else { continue };
            let place = versions.iter().position(|known| *known == text).unwrap_or_else(|| {
                versions.push(text);
                versions.len() - 1
            });
            symbols.push(symbol.with_version(Some(ProvidedVersion { place, default: version.default })));
        }
        if symbols.len() == before {
            symbols.push(symbol); // It satisfies a reference to any version.
        }
    }
    Ok(symbols)
}

/// `dl_iterate_phdr` for unwinders of the base namespace: the address of one that lists the objects of all instances.
pub fn dl_iterate_phdr_of_base() -> usize {
    let address = (dl_iterate_phdr::of_base as *const ()).addr();
    // Whether `dlinfo` shows program headers is found out here: before glibc 2.36 it refuses, which allocates a message, and the function
    // is called in signal handlers.
    let _ = namespace::object_at(address).and_then(|object| object.map()).map(LinkMap::program_headers);
    address
}

/// The look-up functions alone, for a tool of the base namespace.
pub(crate) fn lookups(instance: &'static Instance) -> Result<[(&'static CStr, usize); 2], LoadError> {
    Ok([
        (c"dlsym", trampoline::allocate(arch::dlsym, instance)?),
        (c"dlvsym", trampoline::allocate(arch::dlvsym, instance)?),
    ])
}
