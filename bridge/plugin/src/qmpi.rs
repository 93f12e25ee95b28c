//! The QMPI functions that this tool calls: public ones, of whichever library has them.
//!
//! The references are weak. The library is preloaded into whatever a job starts, launchers and shells included, and a reference that nothing
//! answers would end these.
#![expect(unsafe_code, reason = "C functions of the MPI library, and weak references to them")]

use std::arch::global_asm;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use qmpi_loader::image::Image;

/// A C function of unknown type.
type QmpiFunction = unsafe extern "C" fn();

/// The functions of QMPI.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Qmpi {
    register_tool_name: unsafe extern "C" fn(*const c_char, extern "C" fn(c_int)) -> c_int,
    register_tool_storage: unsafe extern "C" fn(c_int, *mut c_void) -> c_int,
    register_function: unsafe extern "C" fn(c_int, c_int, QmpiFunction) -> c_int,
    get_function: unsafe extern "C" fn(c_int, c_int, *mut usize, *mut c_int) -> c_int,
}

// What `ld.so` binds the references to, in the order of the fields.
global_asm!(
    ".pushsection .data.rel.ro.qmpi_functions, \"aw\", @progbits",
    ".balign 8",
    ".hidden qmpi_functions",
    ".globl qmpi_functions",
    ".type qmpi_functions, @object",
    ".size qmpi_functions, 32",
    "qmpi_functions:",
    ".irp f, Register_tool_name, Register_tool_storage, Register_function, Get_function",
    ".weak QMPI_\\f",
    ".quad QMPI_\\f",
    ".endr",
    ".popsection",
);

unsafe extern "C" {
    /// 0 where nothing has the function.
    static qmpi_functions: [usize; 4];
}

/// Those that are used, from [`find`] on.
static FOUND: OnceLock<Qmpi> = OnceLock::new();

/// Finds the functions: those of the process's global scope, or of a library that `images` has and that was opened for another one only.
/// `false`: there are none.
pub(crate) fn find(images: impl FnOnce() -> Vec<Image>) -> bool {
    // SAFETY: `ld.so` has filled it in before any code of this library runs.
    let bound = unsafe { qmpi_functions };
    let found = if bound[0] != 0 { Some(bound) } else { in_tables(&images()) };
    let Some(addresses) = found.filter(|addresses| !addresses.contains(&0)) else { return false };
    // SAFETY: four functions, none of them null; what has these names has these types.
    FOUND.get_or_init(|| unsafe { std::mem::transmute::<[usize; 4], Qmpi>(addresses) });
    true
}

/// The functions of the first library that defines them.
fn in_tables(images: &[Image]) -> Option<[usize; 4]> {
    const NAMES: [&CStr; 4] =
        [c"QMPI_Register_tool_name", c"QMPI_Register_tool_storage", c"QMPI_Register_function", c"QMPI_Get_function"];
    let image = images.iter().find(|image| image.find(NAMES[0]).is_some())?;
    Some(NAMES.map(|name| image.find(name).map_or(0, |symbol| symbol.address)))
}

const MPI_SUCCESS: c_int = 0;

/// Registers a name; `init` must be code of this type, at this address.
pub(crate) fn register_tool_name(name: &CStr, init: usize) -> bool {
    let Some(qmpi) = FOUND.get() else { return false };
    // SAFETY: the caller made the code at `init` for this purpose.
    let init = unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(init) };
    // SAFETY: `name` is a C string, and the code at `init` is made by `qmpi-links` and never freed.
    unsafe { (qmpi.register_tool_name)(name.as_ptr(), init) == MPI_SUCCESS }
}

/// Some implementations want every tool to have storage.
pub(crate) fn register_tool_storage<T: Sync>(tool: c_int, storage: &'static T) {
    let storage = std::ptr::from_ref(storage).cast_mut().cast();
    // SAFETY: the MPI library keeps the address and reads nothing there.
    FOUND.get().map(|qmpi| unsafe { (qmpi.register_tool_storage)(tool, storage) });
}

/// Registers the code at `address` for the function that `number` stands for.
pub(crate) fn register_function(tool: c_int, number: c_int, address: usize) -> bool {
    let Some(qmpi) = FOUND.get() else { return false };
    // SAFETY: the caller made the code at `address` for this purpose.
    let address = unsafe { std::mem::transmute::<usize, QmpiFunction>(address) };
    // SAFETY: the code at `address` is made by `qmpi-links` and never freed.
    unsafe { (qmpi.register_function)(tool, number, address) == MPI_SUCCESS }
}

/// What comes next for the function that `number` stands for, and the id to pass.
pub(crate) fn next_function(tool: c_int, number: c_int) -> Option<(usize, c_int)> {
    let (mut address, mut next) = (0, 0);
    // SAFETY: the call writes to two variables, of the types that the header says.
    let result = unsafe { (FOUND.get()?.get_function)(tool, number, &raw mut address, &raw mut next) };
    (result == MPI_SUCCESS && address != 0).then_some((address, next))
}
