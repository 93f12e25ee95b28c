//! The exit handlers that one instance has registered: a list that is read and changed without a lock.
//!
//! Entries stay for ever, so a fork at any moment leaves the child with a list that works, and a thread that registers one does not
//! wait for another that runs one. What is over is used again: a tool that opens and closes a plugin registers without an end.
#![expect(unsafe_code, reason = "follows pointers to entries that are never freed, and calls what a tool registered")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// By which function a handler was registered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum RegisteredBy {
    /// `__cxa_atexit`, and so `atexit`.
    AtExit,
    /// `on_exit`.
    OnExit,
    /// `__cxa_at_quick_exit`, and so `at_quick_exit`.
    AtQuickExit,
    /// `__cxa_thread_atexit_impl`: the destructor of a thread-local object.
    ThreadLocal,
}

/// Which of the C library's lists a handler is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitList {
    Exit,
    QuickExit,
}

/// What has happened to a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum State {
    /// The entry may be used.
    Free,
    /// It is being filled in.
    Taken,
    /// Registered; its turn in the C library's list has not come.
    Registered,
    /// Its turn has come, and it waits for layers outside of its own.
    Due,
    /// It was called.
    Called,
    /// It was called because its object ends (`__cxa_finalize`).
    Finalized,
}

impl State {
    const ALL: [State; 6] = [State::Free, State::Taken, State::Registered, State::Due, State::Called, State::Finalized];
}

/// What a tool registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Registration {
    pub(crate) kind: RegisteredBy,
    pub(crate) function: usize,
    pub(crate) argument: usize,
    /// The object that it belongs to (`__dso_handle`); 0: none.
    pub(crate) object: usize,
    /// By a constructor, while the tool was loaded.
    pub(crate) at_load: bool,
}

/// A handler.
#[derive(Debug, Default)]
pub(crate) struct Handler {
    next: AtomicPtr<Handler>,
    state: AtomicU8,
    kind: AtomicU8,
    function: AtomicUsize,
    argument: AtomicUsize,
    object: AtomicUsize,
    at_load: AtomicBool,
    /// Counts registrations: the higher, the later.
    number: AtomicUsize,
}

/// How many handlers were registered, by all instances.
static REGISTRATIONS: AtomicUsize = AtomicUsize::new(0);

/// How many came before all others.
static FIRST_OF_ALL: AtomicUsize = AtomicUsize::new(0);

/// The number of the last registration.
pub(crate) fn last_number() -> usize {
    REGISTRATIONS.load(Ordering::Relaxed)
}

/// The handlers of one instance.
#[derive(Debug, Default)]
pub(crate) struct Handlers {
    first: AtomicPtr<Handler>,
}

impl Handlers {
    /// Adds a handler.
    pub(crate) fn add(&self, registration: Registration) -> &'static Handler {
        let number = REGISTRATIONS.fetch_add(1, Ordering::Relaxed) + 1;
        self.add_as(registration, number, State::Registered)
    }

    /// Adds one whose turn has come before that of all others, in the order in which they are added.
    pub(crate) fn add_due(&self, registration: Registration) -> &'static Handler {
        let number = usize::MAX - FIRST_OF_ALL.fetch_add(1, Ordering::Relaxed);
        self.add_as(registration, number, State::Due)
    }

    fn add_as(&self, registration: Registration, number: usize, state: State) -> &'static Handler {
        let handler = self.iter().find(|handler| handler.change(State::Free, State::Taken));
        let handler = handler.unwrap_or_else(|| self.push());
        handler.kind.store(registration.kind as u8, Ordering::Relaxed);
        handler.function.store(registration.function, Ordering::Relaxed);
        handler.argument.store(registration.argument, Ordering::Relaxed);
        handler.object.store(registration.object, Ordering::Relaxed);
        handler.at_load.store(registration.at_load, Ordering::Relaxed);
        handler.number.store(number, Ordering::Relaxed);
        handler.state.store(state as u8, Ordering::Release);
        handler
    }

    fn push(&self) -> &'static Handler {
        let handler = Handler { state: AtomicU8::new(State::Taken as u8), ..Handler::default() };
        let handler: &'static Handler = Box::leak(Box::new(handler));
        let new = ptr::from_ref(handler).cast_mut();
        let _ = self.first.fetch_update(Ordering::AcqRel, Ordering::Acquire, |first| {
            handler.next.store(first, Ordering::Relaxed);
            Some(new)
        });
        handler
    }

    /// All entries.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'static Handler> + use<> {
        let follow = |place: &AtomicPtr<Handler>| {
            // SAFETY: null, or an entry, which is never freed.
            unsafe { place.load(Ordering::Acquire).as_ref::<'static>() }
        };
        std::iter::successors(follow(&self.first), move |handler| follow(&handler.next))
    }

    /// Takes the one among `wanted` that was registered last and has not been called; it is for the caller to call it.
    pub(crate) fn take_last(&self, into: State, wanted: impl Fn(&Handler) -> bool) -> Option<&'static Handler> {
        loop {
            let pending = self.iter().filter(|handler| handler.is_pending() && wanted(handler));
            let last = pending.max_by_key(|handler| handler.number())?;
            if last.change(State::Registered, into) || last.change(State::Due, into) {
                return Some(last);
            }
        }
    }
}

impl Handler {
    pub(crate) fn state(&self) -> State {
        State::ALL[usize::from(self.state.load(Ordering::Acquire)) % State::ALL.len()]
    }

    /// Has it not been called?
    fn is_pending(&self) -> bool {
        matches!(self.state(), State::Registered | State::Due)
    }

    /// Changes the state, unless another thread was first.
    pub(crate) fn change(&self, from: State, to: State) -> bool {
        self.state.compare_exchange(from as u8, to as u8, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    pub(crate) fn number(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }

    pub(crate) fn object(&self) -> usize {
        self.object.load(Ordering::Relaxed)
    }

    pub(crate) fn at_load(&self) -> bool {
        self.at_load.load(Ordering::Relaxed)
    }

    pub(crate) fn list(&self) -> ExitList {
        let is_quick = self.kind.load(Ordering::Relaxed) == RegisteredBy::AtQuickExit as u8;
        if is_quick { ExitList::QuickExit } else { ExitList::Exit }
    }

    /// Calls it. glibc passes the status to handlers of `__cxa_atexit`, too, as a second argument.
    pub(crate) fn call(&self, status: c_int) {
        let function = ptr::with_exposed_provenance::<c_void>(self.function.load(Ordering::Relaxed));
        let argument = ptr::with_exposed_provenance_mut::<c_void>(self.argument.load(Ordering::Relaxed));
        if self.kind.load(Ordering::Relaxed) == RegisteredBy::OnExit as u8 {
            // SAFETY: the tool gave this function to `on_exit`, whose handlers have this type.
            let function = unsafe { std::mem::transmute::<*const c_void, extern "C" fn(c_int, *mut c_void)>(function) };
            function(status, argument);
        } else {
            // SAFETY: the tool gave this function to `__cxa_atexit` or the like; one with fewer arguments does not look at the others.
            let function = unsafe { std::mem::transmute::<*const c_void, extern "C" fn(*mut c_void, c_int)>(function) };
            function(argument, status);
        }
    }
}
