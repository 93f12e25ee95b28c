//! The tools that are present and what they say of themselves, and what is known of the process (`qmpix.h`).

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::sync::{Arc, OnceLock};

use qmpi_abi::FnId;
use qmpi_loader::Process;
use qmpi_loader::process::dlsym;
use qmpi_plan::Layer;
use qmpi_system::Locked;

use crate::chain::{Convention, LoadedLayer};
use crate::lost_stack;
use crate::process::{program_tools, without_mpi};
use crate::requested::Requested;

/// `QMPIX_Tool`: the strings live as long as the process.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct QmpixTool {
    tool: c_int,
    kind: c_int,
    label: *const c_char,
    name: *const c_char,
    path: *const c_char,
    version: *const c_char,
    description: *const c_char,
}

// SAFETY: the strings are never written again, nor freed.
#[expect(unsafe_code, reason = "pointers to constant strings")]
unsafe impl Send for QmpixTool {}

static RECORDS: Locked<BTreeMap<c_int, QmpixTool>> = Locked::new(BTreeMap::new());
/// Version and description that tools registered in their init callbacks, before their records exist.
static SAID: Locked<BTreeMap<c_int, [Option<CString>; 2]>> = Locked::new(BTreeMap::new());

/// Adds a layer.
pub(crate) fn add(loaded: &LoadedLayer, layer: &Layer) {
    let said = SAID.lock().remove(&loaded.tool.0);
    let [version, description] = said.unwrap_or_default().map(|text| text.unwrap_or_default().into_raw().cast_const());
    let kind = match loaded.convention {
        Convention::Pmpi => 1,
        Convention::Qmpi => 2,
        Convention::Thesis(_) => 3,
    };
    let path = if layer.is_name_only() { "".into() } else { layer.path.to_string_lossy() };
    let (label, name, path) = (c_string(&loaded.label), c_string(&layer.name), c_string(&path));
    let record = QmpixTool { tool: loaded.tool.0, kind, label, name, path, version, description };
    RECORDS.lock().insert(record.tool, record);
}

/// What a tool says of itself in its init callback.
pub(crate) fn say(tool: c_int, version: Option<CString>, description: Option<CString>) {
    SAID.lock().insert(tool, [version, description]);
}

/// All records, in the order of the ids.
pub(crate) fn all() -> Vec<QmpixTool> {
    RECORDS.lock().values().copied().collect()
}

/// A C string for good.
fn c_string(text: &str) -> *const c_char {
    CString::new(text.replace('\0', "")).unwrap_or_default().into_raw()
}

/// `QMPIX_Process`: the strings live as long as the process.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct ProcessRecord {
    rank: c_int,
    size: c_int,
    layers: c_int,
    abi: c_int,
    has_mpi: c_int,
    mpi: *const c_char,
    world: *const c_char,
}

struct Known {
    process: Arc<Process>,
    rank: Option<u32>,
    layers: usize,
    record: OnceLock<ProcessRecord>,
    objects: OnceLock<BTreeMap<String, usize>>,
}

// SAFETY: the strings are never written again, nor freed.
#[expect(unsafe_code, reason = "pointers to constant strings")]
unsafe impl Send for Known {}
// SAFETY: the strings are never written again, nor freed.
#[expect(unsafe_code, reason = "pointers to constant strings")]
unsafe impl Sync for Known {}

static KNOWN: OnceLock<Known> = OnceLock::new();

/// Sets what is known of the process, before the first layer is set up.
pub(crate) fn set_process(process: &Arc<Process>, requested: &Requested) {
    let (process, rank, layers) = (Arc::clone(process), requested.rank, requested.stack.layers.len());
    // It is set up once.
    let _ = KNOWN.set(Known { process, rank, layers, record: OnceLock::new(), objects: OnceLock::new() });
}

/// What is known of the process; `None` before that.
pub(crate) fn process() -> Option<ProcessRecord> {
    let known = KNOWN.get()?;
    Some(*known.record.get_or_init(|| known.to_record()))
}

impl Known {
    fn to_record(&self) -> ProcessRecord {
        let number = |number: Option<u32>| number.and_then(|number| c_int::try_from(number).ok()).unwrap_or(-1);
        let world = qmpi_plan::WORLD_VARIABLES.iter().find_map(|name| std::env::var(name).ok());
        let layers = self.layers + program_tools::all(&self.process).count();
        ProcessRecord {
            rank: number(self.rank),
            size: number(lost_stack::world_size()),
            layers: c_int::try_from(layers).unwrap_or(c_int::MAX),
            abi: self.process.family().map_or(0, |family| family as c_int + 1),
            has_mpi: c_int::from(!without_mpi::is_opened()),
            mpi: c_string(self.process.mpi_name()),
            world: c_string(world.as_deref().unwrap_or_default()),
        }
    }
}

/// The MPI library's own function, or a variable of it whose address is a handle. A program may have copies of these, whose addresses are the
/// handles everywhere then.
pub(crate) fn mpi_symbol(name: &str) -> Option<usize> {
    let known = KNOWN.get()?;
    if let Some(id) = FnId::by_name(name) {
        return known.process.real(id);
    }
    let of_library =
        known.objects.get_or_init(|| known.process.predefined_objects().into_iter().collect()).get(name)?;
    Some(dlsym::global(&CString::new(name).ok()?).unwrap_or(*of_library))
}
