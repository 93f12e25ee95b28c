//! Libraries of addresses that stand, in the program's namespace, for libraries that are in those of tools: what the program opens is bound to
//! these as under `LD_PRELOAD`, where there is one namespace.
//!
//! | what | file |
//! |---|---|
//! | libraries that tools opened with RTLD_GLOBAL | `plugins.rs` |
//! | files of layers that the program opens as well | `tools.rs` |
//!
//! They are made before the program opens a library (`dlopen.rs`).

pub(crate) mod dlopen;
pub(crate) mod plugins;
pub(crate) mod tools;

pub use dlopen::dlopen_for_program;

use std::borrow::Cow;
use std::ffi::CStr;

use qmpi_elf::write::provider::Provided;

use crate::image::{Image, SymbolKind};
use crate::instance::Instance;
use crate::link_map::Handle;

/// Is there a tool in a namespace?
pub fn may_be_needed() -> bool {
    Instance::all().next().is_some()
}

/// What a library defines under the names that are wanted, but for thread-local variables, which no address stands for.
fn symbols(image: &Image, handle: Handle, is_wanted: impl Fn(&CStr) -> bool) -> Vec<Provided<'_>> {
    let defined = image.symbols().filter(|symbol| symbol.defined && is_wanted(symbol.name));
    defined
        .filter_map(|symbol| {
            let address = match symbol.kind {
                SymbolKind::Ifunc => handle.find(symbol.name)?,
                SymbolKind::Tls => return None,
                _ => symbol.address,
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
