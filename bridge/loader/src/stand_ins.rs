//! Libraries of addresses that stand, in the program's namespace, for libraries that are in those of tools: what the program opens is bound to
//! these as under `LD_PRELOAD`, where there is one namespace.
//!
//! | what | file |
//! |---|---|
//! | libraries that tools opened with RTLD_GLOBAL | `plugins.rs` |
//! | files of layers that the program opens as well | `tools.rs` |
//!
//! They are made before the program opens a library: its calls of `dlopen` pass by here (`core/src/process/c_library.rs`).
#![expect(unsafe_code, reason = "a C string of the program")]

#[cfg_attr(target_arch = "x86_64", path = "stand_ins/arch/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "stand_ins/arch/aarch64.rs")]
pub(crate) mod arch;
pub(crate) mod plugins;
pub(crate) mod tools;

use std::borrow::Cow;
use std::ffi::{CStr, c_char};

use qmpi_elf::write::provider::Provided;

use crate::image::{Image, SymbolKind};
use crate::instance::Instance;
use crate::link_map::Handle;
use crate::process::loader_lock;

/// Is there a tool in a namespace?
pub fn may_be_needed() -> bool {
    Instance::all().next().is_some()
}

/// The address of `dlopen` for the program: it looks at the file first, and goes on to the process's.
pub fn dlopen_of_program() -> usize {
    (arch::dlopen_of_program as *const ()).addr()
}

/// Makes what may be needed when the program opens `file`, and returns what it is to open: this file, or what stands for it.
pub(crate) extern "C" fn show(file: *const c_char) -> *const c_char {
    loader_lock::with(|writer| {
        plugins::show(writer);
        // SAFETY: null, or a C string, as `dlopen` wants.
        let name = (!file.is_null()).then(|| unsafe { CStr::from_ptr(file) });
        name.and_then(|name| tools::instead_of(name, writer)).map_or(file, CStr::as_ptr)
    })
}

/// How a call of `dlopen` goes on that a tool's wrapper passes on for the program, in the registers of a result.
#[repr(C)]
pub(crate) struct GoesOn {
    /// The file to open.
    file: *const c_char,
    /// The call returns to the program, as the wrapper has jumped.
    returns_to_program: usize,
}

/// Makes what [`show`] makes for `file`; `caller` is the return address.
pub(crate) extern "C" fn goes_on(file: *const c_char, caller: usize) -> GoesOn {
    let of_program = qmpi_dynamic::objects::find(|info| info.segments().contains(caller).then_some(1));
    GoesOn { file: show(file), returns_to_program: of_program.unwrap_or(0) }
}

/// What a library defines under the names that are wanted, but for thread-local variables, which no address stands for.
fn symbols(image: &Image, handle: Handle, is_wanted: impl Fn(&CStr) -> bool) -> Vec<Provided<'_>> {
    let defined = image.symbols().filter(|symbol| symbol.defined && is_wanted(symbol.name));
    defined
        .filter_map(|symbol| {
            let address = match symbol.kind {
                SymbolKind::Function | SymbolKind::Data | SymbolKind::Untyped | SymbolKind::Other => symbol.address,
                SymbolKind::Ifunc => handle.find(symbol.name)?,
                SymbolKind::Tls => return None,
            };
            Some(Provided::new(symbol.name, symbol.provided_kind(), address))
        })
        .collect()
}

/// The SONAME of what stands for a library. What has none goes by the path that it was opened by.
fn name(image: &Image) -> Cow<'_, str> {
    let name = image.soname().and_then(|name| name.to_str().ok());
    name.map_or_else(|| image.path().to_string_lossy(), Cow::Borrowed)
}
