//! Functions that a tool in a namespace must not call bare, and what it gets instead.
//!
//! They are entries of the namespace's head, which comes first in its scope; an entry without a version satisfies a
//! reference with one. Those that find out who called them (`dlopen`, `dlsym`) end in a jump to glibc's own, so that
//! glibc still sees the tool as the caller.

pub(crate) mod dl_iterate_phdr;
pub(crate) mod dlopen;
pub(crate) mod dlsym;
pub(crate) mod getenv;

use std::ffi::CStr;

use crate::error::LoadError;
use crate::{Instance, arch, trampoline};

/// The overrides of one instance: name and address.
pub(crate) fn table(instance: &'static Instance) -> Result<Vec<(&'static str, usize)>, LoadError> {
    type Shim = extern "C" fn();
    let shims: [(&'static str, Shim); 6] = [
        ("dlopen", arch::dlopen),
        ("dlsym", arch::dlsym),
        ("dlvsym", arch::dlvsym),
        ("dl_iterate_phdr", arch::dl_iterate_phdr),
        ("getenv", arch::getenv),
        ("secure_getenv", arch::secure_getenv),
    ];
    shims.iter().map(|(name, shim)| Ok((*name, trampoline::allocate(*shim, instance)?))).collect()
}

/// The look-up functions alone, for a tool of the base namespace.
pub(crate) fn lookups(instance: &'static Instance) -> Result<[(&'static CStr, usize); 2], LoadError> {
    Ok([
        (c"dlsym", trampoline::allocate(arch::dlsym, instance)?),
        (c"dlvsym", trampoline::allocate(arch::dlvsym, instance)?),
    ])
}
