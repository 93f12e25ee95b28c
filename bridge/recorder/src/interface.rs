//! What the runtime offers to QMPI tools (`qmpi.h`, `qmpix.h`), as far as it is used here.
#![expect(unsafe_code, reason = "functions of the runtime")]

use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;

/// The name that the recorder registers.
const NAME: &CStr = c"qmpi_recorder";

/// What the runtime knows of the process.
#[derive(Debug)]
pub(crate) struct ProcessFacts {
    /// 0 where the launcher does not tell.
    pub(crate) rank: u32,
    /// How many ranks the job has.
    pub(crate) size: Option<u32>,
    /// How many layers there are at most, PMPI tools of the program among them.
    pub(crate) layers: usize,
    /// Whose handles and constants the MPI library has.
    pub(crate) abi: c_int,
    /// Otherwise the runtime has opened the MPI library, in a process that may be a shell.
    pub(crate) has_mpi: bool,
    /// The name of the MPI library.
    pub(crate) mpi: String,
    /// The name of its MPI_COMM_WORLD among those of the job, if it has one.
    pub(crate) world: Option<String>,
}

/// `QMPIX_Process`: rank, size, layers, ABI, whether there is an MPI library; its name, and that of the world.
#[derive(Debug)]
#[repr(C)]
struct ProcessWords {
    numbers: [c_int; 5],
    strings: [*const c_char; 2],
}

/// `QMPIX_Tool`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct ToolRecord {
    tool: c_int,
    kind: c_int,
    strings: [*const c_char; 5],
}

unsafe extern "C" {
    fn QMPI_Register_tool_name(name: *const c_char, init: extern "C" fn(c_int)) -> c_int;
    fn QMPI_Register_function(tool: c_int, function: c_int, wrapper: *const ()) -> c_int;
    fn QMPI_Get_function(tool: c_int, function: c_int, next: *mut usize, next_tool: *mut c_int) -> c_int;
    fn QMPIX_Get_layer(tool: c_int, place: *mut c_int, label: *mut *const c_char) -> c_int;
    fn QMPIX_Get_tools(max: c_int, tools: *mut ToolRecord, count: *mut c_int) -> c_int;
    fn QMPIX_Get_process(process: *mut ProcessWords) -> c_int;
    fn QMPIX_Get_mpi_symbol(name: *const c_char, address: *mut usize) -> c_int;
}

/// Registers the recorder's name, and what is called with the id of each instance.
pub(crate) fn register_tool(init: extern "C" fn(c_int)) {
    // SAFETY: the name is a C string, and the function stays: the runtime never unloads a tool.
    unsafe { QMPI_Register_tool_name(NAME.as_ptr(), init) };
}

/// The number of a function that means it on every MPI: `QMPIX_FUNCTION_BASE` plus its row.
fn number(function: FnId) -> c_int {
    Numbering::BASE + function.index() as c_int
}

/// Registers a wrapper for an instance.
pub(crate) fn register(tool: c_int, function: FnId, wrapper: *const ()) {
    // SAFETY: the wrapper has the arguments of a QMPI tool's function.
    unsafe { QMPI_Register_function(tool, number(function), wrapper) };
}

/// What comes next for an instance, and the id to pass; `None`: the function does not come past it.
pub(crate) fn next(tool: c_int, function: FnId) -> Option<(usize, c_int)> {
    let (mut next, mut next_tool) = (0, 0);
    // SAFETY: the call writes to two variables, of the types that the header says.
    let code = unsafe { QMPI_Get_function(tool, number(function), &raw mut next, &raw mut next_tool) };
    (code == 0).then_some((next, next_tool))
}

/// The layer that an instance stands in front of, or that a tool is, with its label. 0 is the program, 1 the MPI library, then come the layers from
/// the innermost outwards.
pub(crate) fn layer(tool: c_int) -> Option<(usize, String)> {
    let (mut place, mut label) = (0, ptr::null());
    // SAFETY: the call writes to two variables, of the types that the header says.
    let code = unsafe { QMPIX_Get_layer(tool, &raw mut place, &raw mut label) };
    (code == 0).then(|| (usize::try_from(place).unwrap_or(0) + 1, text(label)))
}

/// The ids of all layers.
pub(crate) fn tools() -> Vec<c_int> {
    let mut count = 0;
    // SAFETY: the call writes to one variable, and to no record as there is room for none.
    unsafe { QMPIX_Get_tools(0, ptr::null_mut(), &raw mut count) };
    let tool = ToolRecord { tool: 0, kind: 0, strings: [ptr::null(); 5] };
    let mut tools = vec![tool; usize::try_from(count).unwrap_or(0)];
    // SAFETY: `tools` has room for so many records; the call writes to these and to a variable.
    unsafe { QMPIX_Get_tools(count, tools.as_mut_ptr(), &raw mut count) };
    tools.into_iter().map(|tool| tool.tool).collect()
}

/// The MPI library's own function, or a variable of it; 0: it has none.
pub(crate) fn mpi_symbol(name: &CStr) -> usize {
    let mut address = 0;
    // SAFETY: the name is a C string, and the call writes to a variable of the type that the header says.
    let code = unsafe { QMPIX_Get_mpi_symbol(name.as_ptr(), &raw mut address) };
    if code == 0 { address } else { 0 }
}

fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: not null, so it is one of the runtime's C strings, which stay as they are.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

impl ProcessFacts {
    /// What the runtime knows now.
    pub(crate) fn get() -> Option<ProcessFacts> {
        let mut process = ProcessWords { numbers: [-1, -1, 0, 0, 0], strings: [ptr::null(); 2] };
        // SAFETY: the call writes to a variable of the type that the header says.
        let code = unsafe { QMPIX_Get_process(&raw mut process) };
        let ProcessWords { numbers: [rank, size, layers, abi, has_mpi], strings: [mpi, world] } = process;
        (code == 0).then(|| ProcessFacts {
            rank: u32::try_from(rank).unwrap_or(0),
            size: u32::try_from(size).ok(),
            layers: usize::try_from(layers).unwrap_or(0),
            abi,
            has_mpi: has_mpi != 0,
            mpi: text(mpi),
            world: Some(text(world)).filter(|world| !world.is_empty()),
        })
    }
}

/// Unit tests run without a runtime.
#[cfg(test)]
mod without_runtime {
    macro_rules! absent {
        ($($name:ident)*) => { $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> std::ffi::c_int {
                16
            }
        )* };
    }
    absent!(QMPI_Register_tool_name QMPI_Register_function QMPI_Get_function QMPIX_Get_layer QMPIX_Get_tools
            QMPIX_Get_process QMPIX_Get_mpi_symbol);
}
