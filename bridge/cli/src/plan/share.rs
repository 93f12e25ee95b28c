//! Libraries of `share` that are not on this machine, as far as the dynamic linker's search by name goes.

use std::path::Path;

use qmpi_elf::{ElfFile, SearchPath};
use qmpi_launch::Warning;
use qmpi_plan::preload;

use crate::Error;
use crate::plan::layer::InspectedLayer;

/// A library that a layer is to share with the program, and that only the program can bring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingShare {
    pub(crate) layer: String,
    pub(crate) soname: String,
}

/// The libraries that sections of layers name and that are not there. What is preloaded is there, and what a QMPI tool needs comes into the
/// program's namespace with it.
pub(crate) fn missing(layers: &[InspectedLayer], search: &SearchPath) -> Vec<MissingShare> {
    let shares =
        layers.iter().flat_map(|layer| layer.layer().settings.share.iter().map(move |soname| (layer.label(), soname)));
    let mut missing = shares.filter(|(_, soname)| search.find_by_name(soname).is_none()).peekable();
    if missing.peek().is_none() {
        return Vec::new();
    }
    let preloaded = std::env::var("LD_PRELOAD").unwrap_or_default();
    let preloaded = preload::entries(&preloaded).filter_map(|entry| ElfFile::open(Path::new(entry)).ok());
    let mut there: Vec<String> = preloaded.map(|file| file.name().to_owned()).collect();
    let in_base = layers.iter().filter(|layer| layer.planned.pmpi().is_none()).filter_map(|layer| layer.planned.tool());
    there.extend(in_base.flat_map(|tool| &tool.closure.objects).map(|file| file.name().to_owned()));
    let missing = missing.filter(|(_, soname)| !there.contains(soname));
    missing.map(|(layer, soname)| MissingShare { layer: layer.to_owned(), soname: soname.clone() }).collect()
}

impl MissingShare {
    fn message(&self) -> String {
        format!("tool `{}`: `share` names {}, which the dynamic linker does not find", self.layer, self.soname)
    }

    /// For a program that is not known.
    pub(crate) fn warning(&self) -> Warning {
        Warning::new(
            self.message(),
            "that is right only if the program brings it; a SONAME is wanted, such as libhdf5.so.103",
        )
    }

    /// For a program that does not bring it.
    pub(crate) fn error(&self, program: &Path) -> Error {
        Error::usage(
            format!("{}, and {} does not bring it", self.message(), program.display()),
            "check the spelling: a SONAME is wanted, such as libhdf5.so.103; or set LD_LIBRARY_PATH",
        )
    }
}
