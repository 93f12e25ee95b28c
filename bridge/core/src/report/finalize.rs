//! Does `MPI_Finalize` reach the MPI library before it returns to the application?
//!
//! Some tools put it off to an exit handler, or drop it. Layers below then see it when their own static objects are gone,
//! and crash. Nothing stands between the application and the first layer, so the return itself cannot be seen; instead
//! an observer on each edge notes the call:
//!
//! * at the first, an exit handler is registered, which runs before those that tools registered earlier: if the MPI
//!   library was not reached by then, it says so;
//! * at each other, the application's call must still be under way: its return address is where it was, and the stack
//!   pointer below it. If not, a tool registered its handler later, and the same is said.
#![expect(unsafe_code, reason = "atexit, and a look at a return address")]

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_loader::links::observer;
use qmpi_loader::log;

use crate::chain::or_end;

/// A place in the chain: edge `i` leads into layer `i`, the last one into the MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Edge(pub(crate) usize);

/// Labels of the layers, outermost first.
static LAYERS: Mutex<Vec<String>> = Mutex::new(Vec::new());
/// The innermost edge reached.
static REACHED: AtomicUsize = AtomicUsize::new(0);
/// Where on the stack the application's return address is, what it is, and in which thread.
static FRAME: AtomicUsize = AtomicUsize::new(0);
static RETURN_ADDRESS: AtomicUsize = AtomicUsize::new(0);
static THREAD: AtomicI32 = AtomicI32::new(0);
static SAID: AtomicUsize = AtomicUsize::new(0);

/// Sets the labels of the layers, outermost first.
pub(crate) fn name_layers(labels: Vec<String>) {
    *LAYERS.lock().unwrap_or_else(PoisonError::into_inner) = labels;
}

/// A link that notes that the call reached `edge` and jumps to `target`.
pub(crate) fn observe(target: usize, edge: Edge) -> usize {
    or_end(observer::observe(target, notify, edge.0))
}

extern "C" fn notify(edge: usize, stack: *const usize) {
    REACHED.fetch_max(edge, Ordering::Relaxed);
    // SAFETY: takes no arguments and returns a number.
    let thread = unsafe { libc::gettid() };
    if edge == 0 {
        FRAME.store(stack.addr(), Ordering::Relaxed);
        // SAFETY: `stack` is the stack pointer at the function's entry, where the return address is.
        RETURN_ADDRESS.store(unsafe { stack.read() }, Ordering::Relaxed);
        THREAD.store(thread, Ordering::Relaxed);
        // SAFETY: libqmpi is never unloaded, so the handler stays callable.
        unsafe { libc::atexit(at_exit) };
    } else if THREAD.load(Ordering::Relaxed) == thread && !is_under_way(stack) {
        say(edge - 1);
    }
}

fn is_under_way(stack: *const usize) -> bool {
    let frame = FRAME.load(Ordering::Relaxed);
    // SAFETY: the word was the application's return address, on this thread's stack, which is still there.
    // Equal in a chain of tail calls.
    stack.addr() <= frame
        && unsafe { std::ptr::with_exposed_provenance::<usize>(frame).read() } == RETURN_ADDRESS.load(Ordering::Relaxed)
}

extern "C" fn at_exit() {
    let layers = LAYERS.lock().unwrap_or_else(PoisonError::into_inner).len();
    let reached = REACHED.load(Ordering::Relaxed);
    if reached < layers {
        say(reached);
    }
}

/// `layer` is the one that did not pass the call on in time.
fn say(layer: usize) {
    if SAID.swap(1, Ordering::Relaxed) != 0 {
        return;
    }
    let layers = LAYERS.lock().unwrap_or_else(PoisonError::into_inner);
    // Below the innermost layer no layer misses the call.
    if layer + 1 == layers.len() {
        return;
    }
    let Some(layer) = layers.get(layer) else { return };
    log::warn(
        &format!(
            "{layer}: MPI_Finalize returned without having reached the MPI library; layers below {layer} see it late or never"
        ),
        Some(&format!("make {layer} the innermost layer, last in the list")),
    );
}
