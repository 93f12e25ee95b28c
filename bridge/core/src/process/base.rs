//! Objects of the base namespace whose `PMPI_*` calls have to enter the chain.
//!
//! A PMPI tool that the application is linked with, or that is preloaded (`program_tools.rs`), comes first, and its `PMPI_f`
//! starts the chain.
//! MPI's Fortran libraries are the other kind: see `fortran.rs`. The program's own calls enter it where the stack wants them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CStr;
use std::sync::Arc;

use qmpi_abi::{ABORT, FnId};
use qmpi_dynamic::LinkerLock;
use qmpi_links::conversion::CallerMode;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind;
use qmpi_loader::image::symbol::Definition;
use qmpi_loader::process::dlsym;
use qmpi_loader::{Instance, Process, look_ups};
use qmpi_ring::Moment;
use qmpi_system::Locked;

use crate::chain::{self, Chain};
use crate::name;
use crate::process::fortran::Fortran;
use crate::process::{program_tools, rebound};
use crate::recorder;
use crate::ring::{is_entry, ring};
use crate::versions::{self, WrapperVersions};

/// PMPI tools of the program: the addresses of each, and its `dlsym`.
static LOOK_UPS: Locked<Vec<(Image, usize)>> = Locked::new(Vec::new());

/// The `dlsym` of the tool that this address is in; 0 where there is none.
pub(crate) extern "C" fn look_up_of(address: usize) -> usize {
    let known = LOOK_UPS.lock();
    known.iter().find(|(image, _)| image.contains(address)).map_or(0, |(_, look_up)| *look_up)
}

/// Rebinds the objects that need it, lets calls of the application begin at the first tool among them, and takes the detour
/// through libqmpi's entry stubs out of all calls that are bound already. `entries`: where the application's calls go.
pub(crate) fn enter(
    lock: &LinkerLock,
    process: &Arc<Process>,
    chain: &mut Chain,
    entries: &[usize],
    fortran: Option<Fortran>,
    moment: Moment,
) {
    let Some(ours) = process.images().iter().find(|image| is_entry(image)) else { return };
    let (tops, tops_by_name) = (chain.all_pmpi(), chain.all_by_name());
    let program = &process.images()[0];
    let mut taken = HashMap::new();
    let mut versions = chain.versions(entries);
    let position = |image: &Image| process.images().iter().position(|other| other == image);
    let mode = chain.mode();
    for (image, functions) in program_tools::all(process) {
        recorder::begin_destination(None, &format!("{} (program)", image.name()));
        let recorded = |id: FnId, address: usize| chain::of_program(id, address, mode);
        let behind_us = position(image) > position(ours);
        // Inside of the program nothing tells its tool's functions from the others: the tool's calls are the first known.
        let tops = if image == program { entries } else { &*tops };
        for part in program_tools::with_libraries(image, process) {
            rebind_profiling(lock, part, tops, &tops_by_name, process);
        }
        for (id, name, address) in functions {
            let Entry::Vacant(place) = taken.entry(id) else { continue };
            let link = *place.insert(recorded(id, address));
            // Before us it gets the calls anyway, and a pointer to our function that it looked up must not lead back to it.
            if behind_us {
                let definitions = image.definitions(name).into_iter().map(|Definition { symbol, version }| {
                    let is_oldest = symbol.address == address;
                    (version, if is_oldest { link } else { recorded(id, symbol.address) })
                });
                versions.put_in_front(id, link, &definitions.collect::<Vec<_>>(), ring().get(id));
                ring().set(id, link);
            }
        }
    }
    shorten(lock, process, &taken, versions::set_of_process(versions), chain.mode(), ours, moment == Moment::Load);
    if let Some(fortran) = fortran {
        fortran.enter(lock, process, taken);
    }
}

/// Leads calls of `PMPI_f` that the program itself makes to where its calls of `MPI_f` go, if the stack wants them (`qmpi_plan::ProgramPmpi`). They
/// are those of all objects that are there at start-up, without MPI libraries, PMPI tools of the program (their calls go to the top of the
/// chain) and QMPI tools, which go past all layers.
pub(crate) fn let_profiling_in(lock: &LinkerLock, process: &Process, entries: &[usize]) {
    let of_tools = program_tools::of_qmpi_tools(process);
    for image in process.images() {
        if process.is_mpi(image) || is_entry(image) || of_tools.contains(&image) {
            continue;
        }
        let what = "to PMPI functions enter the chain";
        rebound::rebind(lock, image, what, |reference| profiling(reference.name, entries, process));
    }
}

/// Points calls that are bound to an entry stub of ours directly to where the stub jumps, and those that are bound to a
/// tool of the program (`taken`) as well: that may have to note where the call came from. References to a version of which the
/// stub does not know go to this one.
///
/// The stub costs two cycles. Function pointers stay as they are, so that they compare equal everywhere; objects that are
/// opened later use the stub. A call that leads to what `ld.so` did not bind it to stays as well: a tool has rewritten it (GOTCHA). So does
/// one that `ld.so` has not bound yet, where libraries have been opened since the program began: in the scope of a library that was opened
/// with RTLD_DEEPBIND another definition may come first.
fn shorten(
    lock: &LinkerLock,
    process: &Process,
    taken: &HashMap<FnId, usize>,
    versions: &WrapperVersions<usize>,
    mode: CallerMode,
    ours: &Image,
    is_at_start: bool,
) {
    // Under `qmpi run --mpir` the entry library sees it first.
    let has_debugger = std::env::var_os(qmpi_mpir::VARIABLE).is_some();
    let others = process.images().iter().filter(|image| *image != ours);
    let own_place = process.images().iter().position(|image| image == ours).unwrap_or(0);
    let is_in_scope =
        |place: usize, name: &CStr| (is_at_start || place <= own_place) && process.images()[place].find(name).is_some();
    for image in others {
        let is_bound_by_linker = |name: &CStr, held: usize| {
            let owner = || process.images().iter().position(|other| other.contains(held));
            if image.contains(held) { is_at_start } else { owner().is_some_and(|owner| is_in_scope(owner, name)) }
        };
        rebind::exchange(lock, image, name::may_be_plain, |reference, held| {
            let id = name::plain_id(reference.name)?;
            if reference.is_call && !is_bound_by_linker(reference.name, held()) {
                return None;
            }
            if let Some(version) = image.needed_version(reference) {
                let first = versions::first(process.images(), reference, version)?;
                if is_entry(first) {
                    return versions.target(id, reference, version);
                }
                // A tool that stands before us.
                let address = first.find_versioned(reference.name, version)?.address;
                let is_taken = reference.is_call && taken.contains_key(&id);
                return is_taken.then(|| chain::recorded(address, mode));
            }
            if !reference.is_call || image.find(reference.name).is_some() || (id == ABORT && has_debugger) {
                return None;
            }
            let goes_to_us = || dlsym::global(reference.name).is_some_and(|bound| ours.contains(bound));
            taken.get(&id).copied().or_else(|| goes_to_us().then(|| ring().get(id)).flatten())
        });
    }
}

/// Points every `PMPI_*` that `image` refers to at the top of the chain, and look-ups by name as well.
fn rebind_profiling(
    lock: &LinkerLock,
    image: &Image,
    tops: &[usize],
    tops_by_name: &[(FnId, usize)],
    process: &Arc<Process>,
) {
    let by_name = look_ups(Instance::in_base(image.path(), tops, tops_by_name, process));
    let look_up = by_name.iter().find(|(name, _)| *name == c"dlsym").map(|(_, look_up)| (image.clone(), *look_up));
    LOOK_UPS.lock().extend(look_up);
    rebound::rebind(lock, image, "enter the chain: a PMPI tool of the program", |reference| {
        let look_up = by_name.iter().find(|(known, _)| *known == reference.name).map(|(_, look_up)| *look_up);
        look_up.or_else(|| profiling(reference.name, tops, process))
    });
}

/// Where a reference to the `PMPI_f` of this name enters the chain, of which `entries` has the functions. `None`: it is no such name, or one that
/// an object before the MPI library defines: a tool may, and its calls then go there.
fn profiling(name: &CStr, entries: &[usize], process: &Process) -> Option<usize> {
    let id = name::profiling_id(name)?;
    let is_mpi = || program_tools::before_mpi(process).all(|image| image.find(name).is_none());
    Some(entries[id.index()]).filter(|address| *address != 0 && is_mpi())
}
