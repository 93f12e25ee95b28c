//! What may register the name of a tool that has no file: the program, a library that it is linked with or that is preloaded, or
//! another tool of the list. Whether one of them does is only known when it runs; the runtime says so then.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use qmpi_elf::{ElfFile, SearchPath, tool};
use qmpi_plan::Layer;

use qmpi_launch::program;

/// Where to look.
pub(crate) struct Surroundings<'a> {
    /// COMMAND, as far as it is known.
    pub(crate) command: &'a [OsString],
    /// The value of PATH.
    pub(crate) path: Option<OsString>,
    /// The value of `LD_PRELOAD`.
    pub(crate) preload: Option<OsString>,
    /// How libraries are looked up.
    pub(crate) search: &'a SearchPath,
}

impl Surroundings<'_> {
    /// Is there anything that registers tools, as far as its symbols say?
    #[must_use]
    pub(crate) fn register_tools(&self, layers: &[Layer]) -> bool {
        self.program_registers() || self.preloaded_registers() || layers.iter().any(|layer| registers(&layer.path))
    }

    fn program_registers(&self) -> bool {
        // What is wrong with the program is said when it is its turn.
        let found = program::find(self.command, self.path.as_deref(), self.search).ok();
        found.and_then(|survey| survey.program).is_some_and(|program| program.registers_tools)
    }

    fn preloaded_registers(&self) -> bool {
        let list = self.preload.as_deref().unwrap_or(OsStr::new("")).to_string_lossy();
        // As ld.so separates them.
        list.split([':', ' ']).filter(|name| name.contains('/')).any(|name| registers(Path::new(name)))
    }
}

/// Does this library register tools? A file that cannot be read does not.
fn registers(path: &Path) -> bool {
    path.is_file() && ElfFile::open(path).is_ok_and(|file| tool::registers_tools(&file))
}
