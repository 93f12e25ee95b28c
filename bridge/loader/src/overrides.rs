//! Functions that a tool in a namespace must not call bare, and what it gets instead.
//!
//! Those that may run at any time are in `qmpi-overrides`, which has no heap; here is what they read made, and those that allocate in the
//! C library as well: `dlopen`, exit handlers, and changes of the environment. An instance with variables of its own has an `environ` of
//! its own, too.
//!
//! They are entries of the namespace's head, which comes first in its scope, under the versions that glibc has; not those that the tool
//! defines itself. Those that find out their caller (`dlopen`, `dlsym`) end in a jump to glibc's own, so that
//! glibc still sees the tool as the caller.

#[cfg_attr(target_arch = "x86_64", path = "overrides/arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "overrides/arch/aarch64.rs")]
mod arch;
pub(crate) mod dlopen;
pub(crate) mod environment;
pub(crate) mod exit;

use std::ffi::CStr;

use qmpi_elf::Name;
use qmpi_elf::write::provider::{Provided, ProvidedKind, ProvidedVersion};
use qmpi_links::trampoline;
use qmpi_links::trampoline::Stub;
use qmpi_overrides::{arch as at_any_time, dl_iterate_phdr};

use crate::error::LoadError;
use crate::instance::Instance;

/// The names of the C library's variable.
const ENVIRON: [&CStr; 3] = [c"environ", c"__environ", c"_environ"];

/// The overrides of one instance: name and address.
pub(crate) fn table(instance: &'static Instance) -> Result<Vec<(&'static CStr, usize)>, LoadError> {
    let read: [(&'static CStr, Stub); 5] = [
        (c"dlsym", at_any_time::dlsym),
        (c"dlvsym", at_any_time::dlvsym),
        (c"dl_iterate_phdr", at_any_time::dl_iterate_phdr),
        (c"getenv", at_any_time::getenv),
        (c"secure_getenv", at_any_time::secure_getenv),
    ];
    let of_loader: [(&'static CStr, Stub); 10] = [
        (c"dlopen", arch::dlopen),
        (c"__cxa_atexit", arch::cxa_atexit),
        (c"on_exit", arch::on_exit),
        (c"__cxa_at_quick_exit", arch::cxa_at_quick_exit),
        (c"__cxa_thread_atexit_impl", arch::cxa_thread_atexit),
        (c"__cxa_finalize", arch::cxa_finalize),
        (c"setenv", arch::setenv),
        (c"putenv", arch::putenv),
        (c"unsetenv", arch::unsetenv),
        (c"clearenv", arch::clearenv),
    ];
    let of_loader = of_loader.iter().map(|(name, shim)| Ok((*name, trampoline::allocate(*shim, instance)?)));
    let read = read.iter().map(|(name, shim)| Ok((*name, trampoline::allocate(*shim, &instance.answers)?)));
    of_loader.chain(read).collect()
}

/// The same as symbols of a provider, under the versions of glibc; where these are not yet among `versions`, they are added.
pub(crate) fn symbols(
    instance: &'static Instance,
    versions: &mut Vec<&str>,
) -> Result<Vec<Provided<'static>>, LoadError> {
    let table = table(instance)?;
    let names: Vec<&CStr> = table.iter().map(|(name, _)| *name).chain(ENVIRON).collect();
    let known = instance.process.glibc_versions(&names);
    let functions = table.into_iter().map(|(name, address)| Provided::function(name, address));
    let variables = ENVIRON.map(|name| Provided::new(name, ProvidedKind::Data, instance.answers.view.address()));
    let variables = variables.into_iter().filter(|_| environment::has_view(&instance.answers));
    let mut symbols = Vec::new();
    for symbol in functions.chain(variables) {
        let before = symbols.len();
        for (_, version) in known.iter().filter(|(known, _)| Name::from(*known) == symbol.name) {
            let Ok(text) = version.name.to_str() else { continue };
            let place = versions.iter().position(|known| *known == text).unwrap_or_else(|| {
                versions.push(text);
                versions.len() - 1
            });
            let Ok(place) = u16::try_from(place) else { continue };
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
    (dl_iterate_phdr::of_base as *const ()).addr()
}

/// The look-up functions alone, for a tool of the base namespace: what its references to `dlsym` and `dlvsym` are to be bound to.
///
/// # Errors
/// When no further stubs can be mapped.
pub fn look_ups(instance: &'static Instance) -> Result<[(&'static CStr, usize); 2], LoadError> {
    Ok([
        (c"dlsym", trampoline::allocate(at_any_time::dlsym, &instance.answers)?),
        (c"dlvsym", trampoline::allocate(at_any_time::dlvsym, &instance.answers)?),
    ])
}
