//! What layers do not see of a program: functions of MPI that it and its libraries call, and for which a layer has no wrapper.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use qmpi_abi::{Binding, FnId, classify};
use qmpi_elf::mpi::abi_family;
use qmpi_elf::{Closure, ElfFile, SearchPath, is_dynamic_linker, is_glibc_family};
use qmpi_plan::FortranCalls;
use serde::Serialize;

use crate::plan::layer::InspectedLayer;

/// A program and what its layers do not see.
#[derive(Debug, Serialize)]
pub(crate) struct BlindSpots {
    /// The program's file.
    pub(crate) program: PathBuf,
    /// The functions of MPI that it calls.
    pub(crate) calls: BTreeSet<&'static str>,
    /// By the label of the layer, the functions that it does not see. Layers of which it is not known what they intercept are left out.
    pub(crate) not_seen: BTreeMap<String, BTreeSet<&'static str>>,
}

impl BlindSpots {
    /// `None` if the program's file cannot be read.
    pub(crate) fn of(program: &Path, layers: &[InspectedLayer], search: &SearchPath) -> Option<Self> {
        let calls = calls(program, search)?;
        let known = layers.iter().filter(|layer| layer.unknown().is_none());
        let not_seen = known.map(|layer| {
            let (c, fortran) = (layer.sees(), layer.fortran());
            let c_sees_fortran = layer.layer().settings.fortran == FortranCalls::Seen;
            let is_seen = |(id, is_fortran): &&(FnId, bool)| match is_fortran {
                false => c.contains(id.name()),
                true => fortran.contains(id.name()) || c_sees_fortran && c.contains(id.name()),
            };
            let not_seen = calls.iter().filter(|call| !is_seen(call)).map(|(id, _)| id.name());
            (layer.label().to_owned(), not_seen.collect())
        });
        Some(Self {
            program: program.to_owned(),
            not_seen: not_seen.collect(),
            calls: calls.iter().map(|(id, _)| id.name()).collect(),
        })
    }
}

/// The functions of MPI that the program, and libraries that it is linked with, call by their plain names; whether in Fortran.
fn calls(program: &Path, search: &SearchPath) -> Option<BTreeSet<(FnId, bool)>> {
    let stop = |name: &str| abi_family::role_of(name).is_some() || is_glibc_family(name) || is_dynamic_linker(name);
    let closure = Closure::of(ElfFile::open_program(program, search.machine()).ok()?, Vec::new(), search, &stop);
    let names = closure.objects.iter().flat_map(|object| object.imports());
    let known = names.filter_map(|symbol| classify(symbol.name)).filter(|symbol| !symbol.profiling);
    Some(known.map(|symbol| (symbol.id, symbol.binding != Binding::C)).collect())
}
