//! Libraries that tools opened with RTLD_GLOBAL: what the program opens later is bound to them, as under `LD_PRELOAD`.
//!
//! They are in a namespace, whose symbols `ld.so` does not look at for the program. So a library of addresses stands for each at the end of
//! the program's scope, which is where RTLD_GLOBAL puts one: under its SONAME, by which the program's libraries may need it. It is made
//! before the program opens a library.
#![expect(unsafe_code, reason = "dlclose")]

use qmpi_dynamic::LinkerLock;
use qmpi_elf::write::provider::Life;
use qmpi_overrides::{LinkMap, dlsym};
use qmpi_system::{Locked, log};

use crate::image::Image;
use crate::instance::Instance;
use crate::link_map::Handle;
use crate::process::scope_end;
use crate::stand_ins;

/// A library of addresses at the end of the program's scope.
struct Shown {
    /// What it stands for: where its link map is, and its path.
    map: usize,
    path: Vec<u8>,
    /// Its handle; `None`: it could not be made.
    handle: Option<Handle>,
}

/// Locked under `ld.so`'s lock only, so it is never waited for.
static SHOWN: Locked<Vec<Shown>> = Locked::new(Vec::new());

/// Lets the program's scope have what the tools have opened so far, and not what they have closed.
pub(super) fn show(lock: &LinkerLock) {
    let mut shown = SHOWN.lock();
    let now = opened(lock);
    shown.retain(|shown| {
        let is_open = now.iter().any(|map| shown.is_of(map));
        if let Some(handle) = shown.handle.filter(|_| !is_open) {
            // SAFETY: opened below, and closed once.
            unsafe { libc::dlclose(handle.0) };
        }
        is_open
    });
    for map in now {
        if !shown.iter().any(|shown| shown.is_of(map)) {
            let handle = Image::of_map(map).and_then(|image| stand_in(&image, Handle::of(map)));
            shown.push(Shown { map: std::ptr::from_ref(map).addr(), path: map.name().to_bytes().to_vec(), handle });
        }
    }
}

impl Shown {
    fn is_of(&self, map: &LinkMap) -> bool {
        self.map == std::ptr::from_ref(map).addr() && self.path == map.name().to_bytes()
    }
}

/// The libraries that tools have opened with RTLD_GLOBAL, and those that came with them; of several tools, the outermost's first.
fn opened(_: &LinkerLock) -> Vec<&'static LinkMap> {
    let answers = Instance::all().map(|instance| &instance.answers);
    let namespaces = answers.filter_map(|answers| Some((answers, answers.loaded_namespace()?)));
    namespaces.flat_map(|(answers, namespace)| dlsym::all_global(answers, namespace)).collect()
}

/// Defines what the library defines.
fn stand_in(image: &Image, handle: Handle) -> Option<Handle> {
    if qmpi_elf::is_language_runtime(image.name()) {
        return None;
    }
    let symbols = stand_ins::symbols(image, handle, |_| true);
    let name = stand_ins::name(image);
    let defined = scope_end::define(&name, &symbols, libc::RTLD_GLOBAL, Life::Closable);
    defined
        .inspect_err(|error| {
            log::warn(&format!("the program's libraries cannot be bound to {}: {error}", image.path().display()), None);
        })
        .ok()
}
