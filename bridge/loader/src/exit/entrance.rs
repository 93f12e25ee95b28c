//! Where calls enter the stack while a layer ends.
//!
//! A layer that ends may call MPI, and what MPI calls meanwhile by its public names (its I/O library in MPI_Finalize, callbacks of the
//! program) would come in at the top of the stack, at layers that have ended. So calls come in at the layer that ends. Before and after that
//! the top is the entrance, as under `LD_PRELOAD`.
#![expect(unsafe_code, reason = "a pointer to an instance")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::instance::Instance;

/// Lets all calls of the application and of MPI go to these links; `None`: to the top of the stack.
pub type Move = fn(Option<&'static [usize]>);

static MOVE: OnceLock<Move> = OnceLock::new();
/// The layer that they come in at; null: the top.
static INSIDE: AtomicPtr<Instance> = AtomicPtr::new(std::ptr::null_mut());

/// Says how the entrance is moved.
pub fn move_by(function: Move) {
    MOVE.get_or_init(|| function);
}

/// Calls come in at this layer from now on: outside of it there are only layers that have ended.
pub(super) fn at(instance: &'static Instance) {
    if instance.end.layer.load(Ordering::Relaxed) != 0 {
        set(Some(instance));
    }
}

/// Does something of a layer that ends, or of one of a named stack.
pub(super) fn within(instance: &'static Instance, body: impl FnOnce()) {
    // SAFETY: null, or an instance, which lives as long as the process.
    let before: Option<&'static Instance> = unsafe { INSIDE.load(Ordering::Relaxed).as_ref() };
    at(instance);
    body();
    set(before);
}

/// Calls come in at this layer, or at the top.
pub(super) fn set(instance: Option<&'static Instance>) {
    let pointer = instance.map_or(std::ptr::null_mut(), |instance| std::ptr::from_ref(instance).cast_mut());
    if INSIDE.swap(pointer, Ordering::Relaxed) == pointer {
        return;
    }
    let outside = |inside: &'static Instance| {
        let outside = Instance::all().take_while(|other| !std::ptr::eq(*other, inside));
        outside.filter(|other| other.end.layer.load(Ordering::Relaxed) != 0).last()
    };
    if let Some(enter) = MOVE.get() {
        enter(instance.and_then(outside).map(|outside| outside.next_links));
    }
}
