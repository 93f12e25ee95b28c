//! Constructors of tools that are loaded before the program's libraries are initialized: they run when those of a preloaded tool would.
//!
//! A tool that wraps functions of the C library has to be there before the first constructor of a library calls one. Its own constructors have
//! their turn later: they may call MPI, whose libraries are not initialized yet. Under `LD_PRELOAD` it is the same: wrappers are called before
//! the tool is initialized.
//!
//! `ld.so` initializes what it loads at once. So an object that comes before all others of the namespace (`first.rs`) has it call, for each
//! object, a function that notes the object's turn, in the place of its constructors. Those of a clone are kept from `ld.so` in its file.
//! Destructors wait until the constructors have run: a process may end before.
#![expect(unsafe_code, reason = "exchanges what ld.so calls at the beginning and at the end of objects")]

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_dynamic::initialization::{Arguments, Called};
use qmpi_elf::write::duplicate::KEPT_FROM_LINKER;

use crate::links::callback;
use crate::namespace::link_map::LinkMap;
use crate::{Instance, log};

/// Whether tools that are loaded now are initialized later.
static PUTS_OFF: AtomicBool = AtomicBool::new(false);

/// What is put off, in the order of `ld.so`. Locked under `ld.so`'s lock only, so it is never waited for.
static TURNS: Mutex<Vec<&'static PutOff>> = Mutex::new(Vec::new());

/// An object whose constructors are put off.
#[derive(Debug)]
struct PutOff {
    instance: &'static Instance,
    constructors: Called<'static>,
    destructors: Option<Called<'static>>,
    /// What `ld.so` calls instead of the constructors: the address of a function.
    instead: AtomicUsize,
}

/// Loads tools by `load`, to be initialized by [`run`].
pub fn put_off<R>(load: impl FnOnce() -> R) -> R {
    PUTS_OFF.store(true, Ordering::Relaxed);
    let result = load();
    PUTS_OFF.store(false, Ordering::Relaxed);
    result
}

/// Are tools that are loaded now initialized later?
pub(crate) fn are_put_off() -> bool {
    PUTS_OFF.load(Ordering::Relaxed)
}

/// Puts off those of an object of this instance that `ld.so` is about to initialize. Where its dynamic section cannot be written to,
/// they run at once.
pub(crate) fn put_off_of(map: &'static LinkMap, instance: &'static Instance) {
    let Some((object, constructors)) = map.mapped().and_then(|object| Some((object, Called::at_begin(object, 0)?)))
    else {
        return;
    };
    let destructors = Called::at_end(object);
    let instead = AtomicUsize::new(0);
    let put_off = &*Box::leak(Box::new(PutOff { instance, constructors, destructors, instead }));
    let Ok(function) = callback::with_data(note_turn, put_off) else { return };
    put_off.instead.store(function, Ordering::Relaxed);
    // SAFETY: the object is never unloaded; `ld.so` initializes the namespace in this thread.
    let is_done = unsafe { constructors.replace(Some(&put_off.instead), true) };
    let when = if is_done { "when it is the tools' turn" } else { "at once" };
    log::debug(|| format!("{}: constructors run {when}", map.name().to_string_lossy()));
}

/// Those of a clone, which `ld.so` does not know of.
pub(crate) fn put_off_of_clone(map: &'static LinkMap, instance: &'static Instance) {
    let Some(constructors) = map.mapped().and_then(|object| Called::at_begin(object, KEPT_FROM_LINKER)) else {
        instance.is_initialized();
        return;
    };
    let put_off = PutOff { instance, constructors, destructors: None, instead: AtomicUsize::new(0) };
    TURNS.lock().unwrap_or_else(PoisonError::into_inner).push(Box::leak(Box::new(put_off)));
}

/// `ld.so` has come to the object: its constructors would run now.
extern "C" fn note_turn(_: c_int, put_off: &'static PutOff) {
    // SAFETY: `ld.so` has read what it calls, in this thread, and reads it no more.
    unsafe { put_off.constructors.restore() };
    TURNS.lock().unwrap_or_else(PoisonError::into_inner).push(put_off);
}

/// The namespace of this instance is loaded: what is not initialized is not to be finalized.
pub(crate) fn loaded(instance: &'static Instance) {
    let turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut is_any = false;
    for put_off in turns.iter().filter(|put_off| std::ptr::eq(put_off.instance, instance)) {
        is_any = true;
        if let Some(destructors) = &put_off.destructors {
            // SAFETY: as above; the process ends in this thread, or later.
            unsafe { destructors.replace(None, true) };
        }
    }
    if !is_any {
        instance.is_initialized();
    }
}

/// Runs what is put off. `tell` learns that constructors of an instance are about to run, and that they have.
pub fn run(arguments: Arguments, mut tell: impl FnMut(&'static Instance, bool)) {
    let turns = std::mem::take(&mut *TURNS.lock().unwrap_or_else(PoisonError::into_inner));
    for (index, put_off) in turns.iter().enumerate() {
        let is_of_instance = |other: &&PutOff| std::ptr::eq(other.instance, put_off.instance);
        tell(put_off.instance, false);
        if let Some(destructors) = &put_off.destructors {
            // SAFETY: the object is never unloaded; the process does not end meanwhile.
            unsafe { destructors.restore() };
        }
        // SAFETY: `ld.so` would have called them, in this order.
        unsafe { put_off.constructors.construct(arguments) };
        if !turns.iter().skip(index + 1).copied().any(|other| is_of_instance(&other)) {
            put_off.instance.is_initialized();
        }
        tell(put_off.instance, true);
    }
}
