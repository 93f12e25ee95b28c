//! What comes next below a tool: the MPI library is asked, and is believed. Where it names a link of this library, the wrapper behind that
//! link can be called without a detour through the calling convention of QMPI.

use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::AtomicPtr;

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_links::lazy::NextFound;
use qmpi_loader::Process;
use qmpi_ring::List;

use crate::{numbering, qmpi};

/// A function that an instance has registered.
#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) id: FnId,
    /// The link that QMPI knows.
    pub(crate) link: usize,
    /// What it leads to, called as PMPI functions are.
    pub(crate) wrapper: usize,
}

/// What instances have registered: the tool id of each, and its functions in their order.
static REGISTERED: List<(i32, Vec<Registered>)> = List::new(AtomicPtr::new(null_mut()));

/// Remembers what an instance has registered.
pub(crate) fn remember(tool: i32, mut functions: Vec<Registered>, lock: &LinkerLock) {
    functions.sort_unstable_by_key(|registered| registered.id);
    REGISTERED.add(Box::leak(Box::new(List::node((tool, functions)))), lock);
}

/// The wrapper behind `link`, if it is what this library has registered for `id` as `tool`.
fn wrapper(tool: i32, id: FnId, link: usize) -> Option<usize> {
    let (_, functions) = REGISTERED.iter().find(|(known, _)| *known == tool)?;
    let place = functions.binary_search_by_key(&id, |registered| registered.id).ok()?;
    (functions[place].link == link).then_some(functions[place].wrapper)
}

/// What comes next for `id` below the tool `owner`.
pub(crate) fn below(owner: i32, id: FnId) -> Option<NextFound> {
    let (address, tool) = qmpi::next_function(owner, numbering::number(id)?)?;
    Some(wrapper(tool, id, address).map_or(NextFound::Qmpi(address, tool), NextFound::Pmpi))
}

/// The functions of the MPI library past all tools, by number.
static OF_MPI: OnceLock<Box<[Option<NextFound>]>> = OnceLock::new();

/// Finds the functions of the MPI library. Its `PMPI_f` may enter the chain of tools, as MPICH's does; then it has `QMPI_f`, which does not.
pub(crate) fn find_functions_of_mpi(process: &Process) {
    let of_mpi = |id: FnId| {
        let shifted = process.function(format!("Q{}", id.name()).as_str());
        let shifted = shifted.map(|address| NextFound::Qmpi(address, 0));
        shifted.or_else(|| process.real(id).map(NextFound::Pmpi))
    };
    OF_MPI.get_or_init(|| FnId::all().map(of_mpi).collect());
}

/// The MPI library's own function, past all tools.
pub(crate) fn of_mpi(_: i32, id: FnId) -> Option<NextFound> {
    *OF_MPI.get()?.get(id.index())?
}
