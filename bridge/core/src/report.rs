//! What the core tells people: warnings about a stack that does not do what was asked for, and answers on request.

pub(crate) mod columns;
pub(crate) mod finalize;
pub(crate) mod host_file;
pub(crate) mod lost_stack;
pub(crate) mod recorder;
pub(crate) mod stats;
pub(crate) mod survey;
pub(crate) mod trace;

use qmpi_abi::FnId;
use qmpi_links::conversion::Arity;

/// Starts a layer, or the MPI library: the links that follow are its.
pub(crate) fn layer(label: &str) {
    stats::column(label);
    recorder::layer(label);
}

/// The link to use instead of `address`, with what was asked for in front of it: a counter, a probe, nothing. `leading`: how many words come
/// before the arguments.
pub(crate) fn link(id: FnId, address: usize, arity: Arity, leading: u8) -> usize {
    stats::counted(id, recorder::measured(id, address, arity, leading))
}
