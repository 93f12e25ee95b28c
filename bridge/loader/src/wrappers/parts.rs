//! The wrappers of a tool of one or several files: the first file that defines a function has its wrapper, as in a list in LD_PRELOAD.

use std::ffi::CStr;

use qmpi_abi::FnId;
use qmpi_elf::{Name, ObjectDetail, Tool};

use crate::image::Image;
use crate::image::version::Version;
use crate::link_map::Handle;
use crate::wrappers::found::Wrappers;

/// The files of a tool, in the order of their symbols.
pub(crate) struct Parts<'a>(Vec<(&'a ObjectDetail, Wrappers)>);

impl<'a> Parts<'a> {
    /// Those of `tool`, which are loaded as `handles`, in the same order.
    pub(crate) fn of(tool: &'a Tool, handles: &[Handle]) -> Parts<'a> {
        Parts(tool.parts().zip(handles.iter().map(|handle| Wrappers::of(*handle))).collect())
    }

    /// The wrapper of a C function, and its versions.
    pub(crate) fn find(&self, id: FnId) -> Option<(usize, Vec<(Version, usize)>)> {
        let (_, wrappers) = self.0.iter().find(|(part, _)| part.intercepts.binary_search(&id).is_ok())?;
        let address = wrappers.find(id.name())?;
        Some((address, wrappers.versions(id.name())))
    }

    /// The Fortran wrapper of this name.
    pub(crate) fn find_fortran(&self, name: &str) -> Option<usize> {
        let (_, wrappers) = self.0.iter().find(|(part, _)| part.fortran_wrappers.iter().any(|known| known == name))?;
        wrappers.find(name)
    }

    /// The first definition of a function that is not MPI's, and its versions.
    pub(crate) fn find_other(&self, name: &str) -> Option<(usize, Vec<(Version, usize)>)> {
        let defines =
            |wrappers: &Wrappers| wrappers.image().is_some_and(|image| image.find_name(Name::from(name)).is_some());
        let (_, wrappers) = self.0.iter().find(|(_, wrappers)| defines(wrappers))?;
        let address = wrappers.find(name)?;
        Some((address, wrappers.versions(name)))
    }

    /// The functions that its files define as `PMPI_f`; the first file's counts.
    pub(crate) fn profiling(&self) -> Vec<(&'static CStr, usize)> {
        self.0.iter().rev().flat_map(|(_, wrappers)| wrappers.profiling()).collect()
    }

    /// Its files.
    pub(crate) fn images(&self) -> impl Iterator<Item = &Image> {
        self.0.iter().filter_map(|(_, wrappers)| wrappers.image())
    }
}
