//! What may register the name of a tool that has no file: the program, a library that it is linked with or that is preloaded, or
//! another tool of the list. Whether one of them does is only known when it runs; the runtime says so then.

use std::ffi::OsString;
use std::path::Path;

use qmpi_elf::{ElfFile, SearchPath, tool};
use qmpi_launch::program;
use qmpi_plan::{Layer, preload};

/// Is there anything that registers tools, as far as its symbols say? `get`: the environment; `command`: COMMAND, as far as it is known.
pub(crate) fn is_there(
    layers: &[Layer],
    command: &[OsString],
    search: &SearchPath,
    get: &dyn Fn(&str) -> Option<OsString>,
) -> bool {
    // What is wrong with the program is said when it is its turn.
    let program = || program::find(command, get("PATH").as_deref(), search).ok()?.program;
    let preloaded = get("LD_PRELOAD").unwrap_or_default().to_string_lossy().into_owned();
    let mut preloaded = preload::entries(&preloaded).filter(|name| name.contains('/')).map(Path::new);
    layers.iter().any(|layer| registers(&layer.path))
        || preloaded.any(registers)
        || program().is_some_and(|program| program.registers_tools)
}

/// Does this library register tools? A file that cannot be read does not.
fn registers(path: &Path) -> bool {
    path.is_file() && ElfFile::open(path).is_ok_and(|file| tool::registers_tools(&file))
}
