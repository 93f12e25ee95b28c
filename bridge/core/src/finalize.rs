//! Does `MPI_Finalize` arrive at every layer, and in time?
//!
//! Some tools put it off to an exit handler: then layers below see it there, before they end themselves (`qmpi_loader::exit`), and
//! nothing is lost. Others never pass it on, or do when layers below have ended: these cannot report then. Nothing stands between
//! the application and the first layer; an observer on each edge records the call. Edge `i` leads into layer `i`, the outermost being 0, and
//! the last one into the MPI library.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use qmpi_links::observer;
use qmpi_loader::exit;
use qmpi_system::{Locked, log};

/// Labels of the layers, outermost first.
static LAYERS: Locked<Vec<String>> = Locked::new(Vec::new());
/// The innermost edge that the call has arrived at, and one more; 0 before the application calls it.
static ARRIVED: AtomicUsize = AtomicUsize::new(0);
/// The process that begins and ends MPI: a child that it forks has nothing to report.
static PROCESS: AtomicU32 = AtomicU32::new(0);
static HAS_SPOKEN: AtomicBool = AtomicBool::new(false);

/// Sets the labels of the layers, outermost first.
pub(crate) fn name_layers(labels: Vec<String>) {
    *LAYERS.lock() = labels;
}

/// MPI begins or ends in this process, which has something to report.
pub(crate) fn remember_process() {
    PROCESS.store(std::process::id(), Ordering::Relaxed);
}

/// Is it the process that begins and ends MPI, and no child of it?
pub(crate) fn is_process_of_mpi() -> bool {
    PROCESS.load(Ordering::Relaxed) == std::process::id()
}

/// A link that records that the call arrived at `edge` and jumps to `target`.
pub(crate) fn observe(target: usize, edge: usize) -> usize {
    observer::observe(target, notify, edge)
}

extern "C" fn notify(edge: usize, _: usize) {
    let before = ARRIVED.fetch_max(edge + 1, Ordering::Relaxed);
    remember_process();
    exit::finalize_arrived(edge);
    // The layer that kept the call is the last one that it had arrived at.
    if before > 0 && edge >= before && exit::has_ended(edge) {
        say(
            before - 1,
            "passed MPI_Finalize on when layers below it had ended: what they report at the end may be lost",
        );
    }
}

/// Has the application called it, and a layer not passed it on so far?
pub(crate) fn is_kept() -> bool {
    (1..=LAYERS.lock().len()).contains(&ARRIVED.load(Ordering::Relaxed))
}

/// Has the application called it, or a session for it?
pub(crate) fn has_arrived() -> bool {
    ARRIVED.load(Ordering::Relaxed) > 0
}

/// Says which layer has kept the call from layers below: at the end of the process.
pub(crate) fn say_who_kept_it() {
    let arrived = ARRIVED.load(Ordering::Relaxed);
    // Below the innermost layer there is none that could miss the call.
    if (1..LAYERS.lock().len()).contains(&arrived) {
        say(arrived - 1, "did not pass MPI_Finalize on: what layers below it report there is lost");
    }
}

/// `layer` is the one that kept the call. Said with `-q`, too, once: results are missing.
fn say(layer: usize, what: &str) {
    if HAS_SPOKEN.swap(true, Ordering::Relaxed) {
        return;
    }
    let layers = LAYERS.lock();
    let Some(layer) = layers.get(layer) else { return };
    log::once(log::LogLevel::Error, &format!("warning: {layer} {what}"));
    log::once(log::LogLevel::Error, &format!("hint: make {layer} the innermost layer, last in the list"));
}
