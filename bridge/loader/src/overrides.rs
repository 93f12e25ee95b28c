//! Functions that a tool in a namespace must not call bare, and what it gets instead.
//!
//! Those that may run at any time are in `qmpi-overrides`, which has no heap; here is what they read made, and those that allocate in the
//! C library as well: `dlopen`, exit handlers, and changes of the environment. An instance with variables of its own has an `environ` of
//! its own, too.
//!
//! They are entries of the namespace's head, which comes first in its scope, under the versions that glibc has; not those that the tool
//! defines itself. Those that find out their caller (`dlopen`, `dlsym`) end in a jump to glibc's own, so that
//! glibc still sees the tool as the caller.

pub(crate) mod dlopen;
pub(crate) mod environment;

use std::arch::naked_asm;
use std::ffi::CStr;

use qmpi_elf::Name;
use qmpi_elf::write::provider::{Provided, ProvidedKind, ProvidedVersion};
use qmpi_links::trampoline;
use qmpi_links::trampoline::Stub;
use qmpi_overrides::{arch as at_any_time, dl_iterate_phdr};

use crate::exit;
use crate::instance::Instance;

/// The names of the C library's variable.
const ENVIRON: [&CStr; 3] = [c"environ", c"__environ", c"_environ"];

/// Makes functions that go on to another one with the instance, from the trampoline's payload, as the fourth argument. They have three at most.
macro_rules! with_instance {
    ($($symbol:literal $name:ident: $to:path,)*) => {
        $(
            #[unsafe(naked)]
            extern "C" fn $name() {
                naked_asm!(qmpi_ring::assembly!("with_instance"), to = sym $to)
            }
        )*
        /// These functions under their names.
        const WITH_INSTANCE: &[(&CStr, Stub)] = &[$(($symbol, $name)),*];
    };
}
with_instance! {
    c"__cxa_atexit" cxa_atexit: exit::at_exit,
    c"on_exit" on_exit: exit::with_status,
    c"__cxa_at_quick_exit" cxa_at_quick_exit: exit::at_quick_exit,
    c"__cxa_thread_atexit_impl" cxa_thread_atexit: exit::thread_local::register,
    c"__cxa_finalize" cxa_finalize: exit::finalize,
    c"setenv" setenv: environment::set,
    c"putenv" putenv: environment::put,
    c"unsetenv" unsetenv: environment::unset,
    c"clearenv" clearenv: environment::clear,
}

/// The overrides of one instance: name and address.
fn table(instance: &'static Instance) -> Vec<(&'static CStr, usize)> {
    let read: [(&'static CStr, Stub); 3] = [
        (c"dl_iterate_phdr", at_any_time::dl_iterate_phdr),
        (c"getenv", at_any_time::getenv),
        (c"secure_getenv", at_any_time::secure_getenv),
    ];
    let of_loader = WITH_INSTANCE.iter().chain(&[(c"dlopen", dlopen::of_tool as Stub)]);
    let of_loader = of_loader.map(|(name, shim)| (*name, trampoline::allocate(*shim, instance)));
    let read = read.iter().map(|(name, shim)| (*name, trampoline::allocate(*shim, &instance.answers)));
    of_loader.chain(read).chain(look_ups(instance)).collect()
}

/// The same as symbols of a provider, under the versions of glibc; where these are not yet among `versions`, they are added.
pub(crate) fn symbols(instance: &'static Instance, versions: &mut Vec<&str>) -> Vec<Provided<'static>> {
    let table = table(instance);
    let names: Vec<&CStr> = table.iter().map(|(name, _)| *name).chain(ENVIRON).collect();
    let known = instance.process.glibc_versions(&names);
    let functions = table.into_iter().map(|(name, address)| Provided::function(name, address));
    let variables = ENVIRON.map(|name| Provided::new(name, ProvidedKind::Data, instance.answers.view.address()));
    let variables = variables.into_iter().filter(|_| environment::has_view(&instance.answers));
    let mut symbols = Vec::new();
    for symbol in functions.chain(variables) {
        let before = symbols.len();
        for (_, version, default) in known.iter().filter(|(known, ..)| Name::from(*known) == symbol.name) {
            let place = versions.iter().position(|known| known == version).unwrap_or_else(|| {
                versions.push(version);
                versions.len() - 1
            });
            let Ok(place) = u16::try_from(place) else { continue };
            symbols.push(Provided { version: Some(ProvidedVersion { place, default: *default }), ..symbol });
        }
        if symbols.len() == before {
            symbols.push(symbol); // It satisfies a reference to any version.
        }
    }
    symbols
}

/// `dl_iterate_phdr` for unwinders of the base namespace: the address of one that lists the objects of all instances.
pub fn dl_iterate_phdr_of_base() -> usize {
    (dl_iterate_phdr::of_base as *const ()).addr()
}

/// The look-up functions alone, for a tool of the base namespace: what its references to `dlsym` and `dlvsym` are to be bound to.
pub fn look_ups(instance: &'static Instance) -> [(&'static CStr, usize); 2] {
    [
        (c"dlsym", trampoline::allocate(at_any_time::dlsym, &instance.answers)),
        (c"dlvsym", trampoline::allocate(at_any_time::dlvsym, &instance.answers)),
    ]
}
