//! Libraries that the program and a tool both need: one copy for both, where the files show that this is safe.
//!
//! A preloaded tool uses the copy that the program has, and for some libraries that is the only way to work: a driver that exists once in a
//! process, an OpenMP run-time library that the tool asks for the program's threads, tables of handles. In a namespace of its own the tool
//! would get a second one.
//!
//! | private all the same | because |
//! |---|---|
//! | another file than the program's | the tool may need what the program's file has not |
//! | a library that calls MPI, or needs one that does | its calls for the tool belong below the tool, and would come in above |
//! | a library with thread-local variables for others | an address cannot stand for them |
//! | language run-time libraries | they are in every namespace |
//!
//! A library of whose functions the tool is a wrapper is the program's in any case: the wrapper goes on to the function that the process uses,
//! and hands the program's handles to it. Where the process does not have it, it is opened there, as for a preloaded tool that needs it.

use qmpi_elf::{ElfFile, Tool};
use qmpi_plan::Planned;

use crate::image::{Image, SymbolKind};
use crate::process::Process;

impl Process {
    /// The libraries of a tool's own that the process has already, and of which it can use that copy.
    pub(crate) fn in_common_with(&self, tool: &Tool) -> Vec<String> {
        let own = tool.closure.private().iter();
        let is_in_common = |file: &&ElfFile| {
            let of_program = self.opened_by_program(file);
            of_program.is_some_and(|image| image.defined_symbols().all(|symbol| symbol.kind != SymbolKind::Tls))
        };
        own.filter(is_in_common).map(|file| file.name().to_owned()).collect()
    }

    /// The libraries of a tool's own of whose functions it has wrappers, unless the process has these functions from another library.
    pub(crate) fn wrapped_by<'a>(&self, planned: &'a Planned) -> impl Iterator<Item = &'a ElfFile> {
        let wraps = planned.wrapped();
        let own = planned.pmpi().map(|tool| tool.closure.private()).unwrap_or_default().iter();
        own.filter(move |file| {
            let is_elsewhere = |name: &str| {
                let first = self.images().iter().find(|image| image.find(name).is_some());
                first.is_some_and(|image| image.name() != file.name())
            };
            !qmpi_elf::is_language_runtime(file.name())
                && wraps.iter().any(|name| file.finds(name) && !is_elsewhere(name))
        })
    }

    /// Tools get the process's copy of these from now on.
    pub(crate) fn have_in_common(&mut self, sonames: &[String]) {
        for soname in sonames.iter().filter(|soname| self.shared(soname).is_none()).collect::<Vec<_>>() {
            self.named(soname).into_iter().for_each(Image::keep);
            self.in_common.push(soname.clone());
        }
    }

    /// The program's copy of a file that a tool opens, if the two can have one. The tool looks names up in it: so thread-local variables are
    /// no obstacle.
    pub(crate) fn opened_by_program(&self, file: &ElfFile) -> Option<&Image> {
        let name = file.name();
        let image = self.images().iter().skip(1).find(|image| image.name() == name)?;
        let is_common = !qmpi_elf::is_language_runtime(name)
            && ElfFile::identity_at(image.path()) == Some(file.identity())
            && !self.calls_mpi(image, &mut Vec::new());
        is_common.then_some(image)
    }

    /// Does a library call MPI, or need one that does and that is not MPI's?
    fn calls_mpi<'a>(&'a self, image: &'a Image, seen: &mut Vec<&'a Image>) -> bool {
        if seen.contains(&image) || self.is_mpi(image) {
            return false;
        }
        seen.push(image);
        let mut needed = image.needed().iter().filter_map(|name| self.named(name.to_str().ok()?));
        image.symbols_of_mpi().any(|symbol| !symbol.defined && qmpi_abi::classify_c(symbol.name).is_some())
            || needed.any(|other| self.calls_mpi(other, seen))
    }
}
