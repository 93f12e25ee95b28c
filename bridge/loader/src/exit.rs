//! The end of the process: layers end one after the other, the outermost first.
//!
//! What a layer does at exit may call MPI (some tools finalize it there), and so the layers below, which must not have ended. The C
//! library has one list of exit handlers, in the order of their registration, and `ld.so` one of namespaces; both know nothing of
//! layers. So an instance's handlers are registered here (`handlers.rs`), and in the C library's list stands, in the place of
//! each, `fired`: the handler's turn has come. It is called then, unless a layer outside of its own has not ended.
//!
//! | a layer has not ended | until |
//! |---|---|
//! | while one of its handlers has been registered since it was loaded | that one's turn came, and it was called |
//! | where it has destructors, or handlers of its constructors (those of static objects in C++) | its namespace is finalized |
//! | where it keeps MPI_Finalize from the layers below | it passes the call on |
//!
//! So a handler of the outermost layer runs when it would under `LD_PRELOAD`, and one of another layer then or later, but before its own
//! namespace is finalized: `ld.so` finalizes the namespace that was made last first, which is that of the outermost layer, and in it
//! first of all an object that calls `namespace_ends` (`load.rs`). Handlers that constructors registered run when their object
//! ends, in `__cxa_finalize`, as they do in a preloaded library. Clones end before the first layer below them that has a namespace of
//! its own, or with the namespace of all clones.
//!
//! What MPI calls by its public names while a layer ends goes past the layers that have ended (`entrance.rs`).
//!
//! Destructors of thread-local objects of C++ wait likewise where the first thread ends the process (`thread_local.rs`).
//!
//! Handlers of `at_quick_exit` wait in the same way for one another; nothing else runs in `quick_exit`.
#![expect(unsafe_code, reason = "registers with the C library, which hands the registered pointer back")]

pub mod entrance;
pub mod thread_local;

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};

use qmpi_elf::write::duplicate::KEPT_FROM_LINKER;
use qmpi_links::callback;

use crate::end::destructors::Destructors;
use crate::end::handlers::{ExitList, Handler, RegisteredBy, Registration, State, last_number};
use crate::instance::Instance;
use crate::link_map::LinkMap;

unsafe extern "C" {
    /// Itanium C++ ABI, 3.3.6.3; the libc crate lacks it.
    fn __cxa_atexit(function: extern "C" fn(*mut c_void, c_int), argument: *const c_void, object: *mut c_void)
    -> c_int;
    /// Itanium C++ ABI, 3.3.6.3; the libc crate lacks it.
    fn __cxa_finalize(object: *mut c_void);
    /// stdlib.h; the libc crate lacks it.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *const c_void) -> c_int;
    /// glibc's part of `at_quick_exit` that is not in its `libc_nonshared.a`.
    fn __cxa_at_quick_exit(function: *const c_void, object: *mut c_void) -> c_int;
}

impl Instance {
    /// It is the layer of this number; 0 is the outermost of the stack.
    pub fn set_layer(&self, layer: usize) {
        self.end.layer.store(layer + 1, Ordering::Relaxed);
    }

    /// The number of its layer, if it has one.
    pub fn layer(&self) -> Option<usize> {
        self.end.layer.load(Ordering::Relaxed).checked_sub(1)
    }

    /// Its constructors have run: what it registers from now on is not theirs.
    pub(crate) fn is_initialized(&self) {
        self.end.is_initialized.store(true, Ordering::Relaxed);
    }

    /// These objects belong to it alone.
    pub(crate) fn has_objects(&self, mut all: impl Iterator<Item = &'static LinkMap>) {
        let any = all.any(|map| Destructors::of(map, 0).are_there());
        self.end.has_destructors.store(any, Ordering::Relaxed);
    }

    /// It is a clone, this object.
    pub(crate) fn is_clone(&self, map: &'static LinkMap) {
        let destructors = *self.end.of_clone.get_or_init(|| Destructors::of(map, KEPT_FROM_LINKER));
        self.end.has_destructors.store(destructors.are_there(), Ordering::Relaxed);
    }

    /// Has it a namespace of its own?
    pub(crate) fn is_alone(&self) -> bool {
        self.end.of_clone.get().is_none()
    }

    /// Has its namespace been finalized, or is that about to happen?
    fn is_finalized(&self) -> bool {
        self.end.is_finalized.load(Ordering::Relaxed)
    }

    /// Is there anything of this instance that will run at exit, so that layers below it have to wait?
    fn has_more_to_do(&self, list: ExitList) -> bool {
        let by_linker = || self.end.has_destructors.load(Ordering::Relaxed) || self.has_registered(list, true);
        self.has_registered(list, false) || (list == ExitList::Exit && !self.is_finalized() && by_linker())
    }

    /// Is there a handler whose turn has not come, registered while the tool was loaded, or since?
    fn has_registered(&self, list: ExitList, at_load: bool) -> bool {
        let mut all = self.end.handlers.iter().filter(|handler| handler.list() == list);
        all.any(|handler| handler.state() == State::Registered && handler.at_load() == at_load)
    }

    /// Ends it, as far as `ld.so` does not: its handlers whose turn has come, and those that they register.
    fn finalize(&self) {
        let before = last_number();
        self.end.is_finalized.store(true, Ordering::Relaxed);
        let is_due = |handler: &Handler| {
            handler.list() == ExitList::Exit && (handler.state() == State::Due || handler.number() > before)
        };
        while let Some(handler) = self.end.handlers.take_last(State::Called, is_due) {
            handler.call(status());
        }
        if let Some(destructors) = self.end.of_clone.get().filter(|_| self.end.is_initialized.load(Ordering::Relaxed)) {
            destructors.run();
        }
    }
}

/// Instances are loaded from the innermost layer outwards; the plugin does not, and each handler runs when its turn has come.
static IN_ORDER: AtomicBool = AtomicBool::new(false);
/// What the process ends with.
static STATUS: AtomicI32 = AtomicI32::new(0);
/// A handler was called: the process ends.
static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
/// Namespaces are being finalized.
static IN_DESTRUCTORS: AtomicBool = AtomicBool::new(false);
/// The innermost layer that MPI_Finalize has arrived at, and one more; 0 before that.
static FINALIZE: AtomicUsize = AtomicUsize::new(0);

fn status() -> c_int {
    STATUS.load(Ordering::Relaxed)
}

/// Lets layers end in their order: those that are loaded later are further outside.
pub fn order_by_layers() {
    IN_ORDER.store(true, Ordering::Relaxed);
}

/// MPI_Finalize has arrived at the layer of this number, or below all of them.
///
/// A program that calls it in an exit handler of its own has registered that before its tools registered theirs, mostly: these were to run
/// before, so they wait no longer for destructors.
pub fn finalize_arrived(layer: usize) {
    if layer == 0 && HAS_BEGUN.load(Ordering::Relaxed) && !IN_DESTRUCTORS.load(Ordering::Relaxed) {
        call_due(ExitList::Exit, false);
    }
    FINALIZE.fetch_max(layer + 1, Ordering::Relaxed);
}

/// Has the layer of this number ended already?
pub fn has_ended(layer: usize) -> bool {
    Instance::all().any(|instance| instance.end.layer.load(Ordering::Relaxed) == layer + 1 && instance.is_finalized())
}

/// Is there a layer outside of this one's that has not ended?
fn layers_outside_have_more_to_do(instance: &Instance) -> bool {
    let mut outside = Instance::all().take_while(|other| !std::ptr::eq(*other, instance));
    IN_ORDER.load(Ordering::Relaxed) && outside.any(|other| other.has_more_to_do(ExitList::Exit))
}

/// `__cxa_atexit(function, argument, object)` of a tool. `atexit` and `at_quick_exit` are in the tool's own file (glibc's
/// `libc_nonshared.a`), and call this and [`at_quick_exit`].
pub(crate) extern "C" fn at_exit(
    function: usize,
    argument: usize,
    object: usize,
    instance: &'static Instance,
) -> c_int {
    register(instance, RegisteredBy::AtExit, function, argument, object)
}

/// `on_exit(function, argument)` of a tool.
pub(crate) extern "C" fn with_status(function: usize, argument: usize, _: usize, instance: &'static Instance) -> c_int {
    register(instance, RegisteredBy::OnExit, function, argument, 0)
}

/// `__cxa_at_quick_exit(function, object)` of a tool.
pub(crate) extern "C" fn at_quick_exit(function: usize, object: usize, _: usize, instance: &'static Instance) -> c_int {
    register(instance, RegisteredBy::AtQuickExit, function, 0, object)
}

/// Registers a handler of a tool; returns what the function of the C library does.
fn register(instance: &'static Instance, kind: RegisteredBy, function: usize, argument: usize, object: usize) -> c_int {
    let at_load = kind != RegisteredBy::AtQuickExit && !instance.end.is_initialized.load(Ordering::Relaxed);
    let registration = Registration { kind, function, argument, object, at_load };
    let handler = instance.end.handlers.add(registration);
    let place = std::ptr::from_ref(handler).cast::<c_void>();
    let object = std::ptr::with_exposed_provenance_mut(object);
    let failed = match kind {
        // SAFETY: the handler is never freed, and this library is never unloaded.
        RegisteredBy::AtExit => unsafe { __cxa_atexit(fired, place, object) },
        // SAFETY: the handler is never freed, and this library is never unloaded.
        RegisteredBy::OnExit => unsafe { on_exit(fired_with_status, place) },
        // Such a function has no argument.
        RegisteredBy::AtQuickExit => {
            let address = callback::with_data(fired_at_quick_exit, handler);
            // SAFETY: callbacks are never freed.
            unsafe { __cxa_at_quick_exit(std::ptr::with_exposed_provenance(address), object) }
        }
        // These are in the lists of threads (`thread_local.rs`).
        RegisteredBy::ThreadLocal => -1,
    };
    if failed != 0 {
        handler.change(State::Registered, State::Free);
    }
    failed
}

/// `__cxa_finalize(object)` of a tool. An object of it ends (`dlclose`, or at exit): its handlers run, the last first, and those that they
/// register.
pub(crate) extern "C" fn finalize(object: usize, _: usize, _: usize, instance: &'static Instance) {
    let handlers = &instance.end.handlers;
    let is_of_object =
        |handler: &Handler| object != 0 && handler.object() == object && handler.list() == ExitList::Exit;
    while let Some(handler) = handlers.take_last(State::Finalized, is_of_object) {
        handler.call(0);
    }
    // Their turn in the C library's list comes no more.
    for handler in handlers.iter().filter(|handler| is_of_object(handler)) {
        handler.change(State::Called, State::Finalized);
    }
    // SAFETY: the tool's own argument, passed on: what the C library has of this object is `fired`, which does nothing then.
    unsafe { __cxa_finalize(std::ptr::with_exposed_provenance_mut(object)) };
}

/// An instance's namespace is about to be finalized.
pub(crate) extern "C" fn namespace_ends(_: c_int, instance: &'static Instance) {
    clones_outside_end(Some(instance));
    // Its destructors follow: calls come in here until the next namespace is finalized.
    entrance::at(instance);
    instance.finalize();
}

/// The namespace of all clones is about to be finalized.
pub(crate) extern "C" fn clones_end(_: c_int, _: &'static Instance) {
    clones_outside_end(None);
}

/// Namespaces of tools are being finalized, next that of `inner`: ends the clones outside of it that have not ended.
fn clones_outside_end(inner: Option<&'static Instance>) {
    IN_DESTRUCTORS.store(true, Ordering::Relaxed);
    let outside = Instance::all().take_while(|instance| inner.is_none_or(|inner| !std::ptr::eq(*instance, inner)));
    for clone in outside.filter(|instance| !instance.is_alone() && !instance.is_finalized()) {
        entrance::at(clone);
        clone.finalize();
    }
}

/// All namespaces have been finalized: what has not run yet runs now.
pub fn namespaces_have_ended() {
    clones_outside_end(None);
    for instance in Instance::all() {
        let is_left =
            |handler: &Handler| handler.list() == ExitList::Exit && (handler.state() == State::Due || is_late(handler));
        while let Some(handler) = instance.end.handlers.take_last(State::Called, is_left) {
            entrance::within(instance, || handler.call(status()));
        }
    }
    entrance::set(None);
}

/// Was its turn passed over, since its object should have called it?
fn is_late(handler: &Handler) -> bool {
    handler.at_load() && handler.object() != 0 && PASSED_OVER.load(Ordering::Relaxed)
}

/// The turn of a handler that belongs to an object has come before that object's end: the tool was loaded after `main` began.
static PASSED_OVER: AtomicBool = AtomicBool::new(false);

/// The turn of a handler has come.
extern "C" fn fired(handler: *mut c_void, status: c_int) {
    // SAFETY: the C library hands back what `register` gave it: a handler, which is never freed.
    let handler: &'static Handler = unsafe { &*handler.cast() };
    if handler.state() == State::Finalized {
        // The end of its object is what it was called at.
        handler.change(State::Finalized, State::Free);
        return;
    }
    STATUS.store(status, Ordering::Relaxed);
    HAS_BEGUN.store(true, Ordering::Relaxed);
    if handler.at_load() && handler.object() != 0 && !IN_DESTRUCTORS.load(Ordering::Relaxed) {
        PASSED_OVER.store(true, Ordering::Relaxed);
        return;
    }
    handler.change(State::Registered, State::Due);
    if IN_ORDER.load(Ordering::Relaxed) {
        call_due(handler.list(), true);
    } else if handler.change(State::Due, State::Called) {
        handler.call(status);
    }
}

extern "C" fn fired_with_status(status: c_int, handler: *mut c_void) {
    fired(handler, status);
}

extern "C" fn fired_at_quick_exit(_: c_int, handler: &'static Handler) {
    fired(std::ptr::from_ref(handler).cast_mut().cast(), 0);
}

/// Calls the handlers whose turn has come, from the outermost layer inwards, as far as layers have ended.
fn call_due(list: ExitList, wait_for_destructors: bool) {
    let waits = |instance: &Instance| {
        let arrived = FINALIZE.load(Ordering::Relaxed);
        arrived != 0 && arrived < instance.end.layer.load(Ordering::Relaxed)
    };
    for instance in Instance::all() {
        if wait_for_destructors && list == ExitList::Exit && waits(instance) {
            return;
        }
        let is_due = |handler: &Handler| handler.list() == list && handler.state() == State::Due;
        while let Some(handler) = instance.end.handlers.take_last(State::Called, is_due) {
            entrance::within(instance, || handler.call(status()));
        }
        let more =
            if wait_for_destructors { instance.has_more_to_do(list) } else { instance.has_registered(list, false) };
        if more {
            return;
        }
    }
}
