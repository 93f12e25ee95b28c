//! The number that stands for each function in the MPI of this process.
#![expect(unsafe_code, reason = "a section of its own")]

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;
use qmpi_loader::Process;
use qmpi_loader::process::loader_lock;
use qmpi_system::log;

/// What `qmpi.h` notes in tools (`qmpi_elf::file::numbering_note`): this one's numbers are those of the MPI that runs.
#[used]
#[unsafe(link_section = ".note.qmpi")]
static NOTE: [u32; 6] = [5, 4, 1, u32::from_ne_bytes(*b"QMPI"), 0, u32::MAX];

/// A file that `shim-gen numbering` made from the MPI's `mpi_proto.h`, for an MPICH that is not known here.
const FILE: &str = "QMPI_BRIDGE_NUMBERING";

/// Number by function.
static NUMBERS: OnceLock<HashMap<FnId, i32>> = OnceLock::new();

/// The number of `id`, if the MPI has one for it.
pub(crate) fn number(id: FnId) -> Option<i32> {
    NUMBERS.get_or_init(numbers).get(&id).copied()
}

fn numbers() -> HashMap<FnId, i32> {
    if let Some(path) = std::env::var_os(FILE) {
        return from_file(Path::new(&path));
    }
    let version = loader_lock::with(|lock| Process::with_mpi(lock)?.mpich_version());
    let numbering = version.as_deref().and_then(Numbering::for_mpich).unwrap_or(Numbering::OWN);
    FnId::all().filter_map(|id| Some((id, numbering.value(id)?))).collect()
}

/// Lines of a number, a tab and an enumerator (`258`, `MPI_SEND_T`).
fn from_file(path: &Path) -> HashMap<FnId, i32> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
        log::fatal(
            &format!("{}: {error}", path.display()),
            Some("QMPI_BRIDGE_NUMBERING names a file of `shim-gen numbering`"),
        )
    });
    let enumerators: HashMap<String, FnId> =
        FnId::all().map(|id| (format!("{}_T", id.name().to_uppercase()), id)).collect();
    let row = |line: &str| {
        let (number, name) = line.split_once('\t')?;
        Some((*enumerators.get(name.trim())?, number.trim().parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}
