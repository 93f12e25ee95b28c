//! What `qmpi inspect` says about an MPI library.

use std::path::Path;

use qmpi_abi::{Binding, MpiFamily, classify};
use qmpi_elf::mpi::abi_family::{self, Role};
use qmpi_elf::{ElfError, ElfFile};
use serde::Serialize;

use crate::report::listing::{count, facts};

/// What an MPI library is and offers.
#[derive(Debug, Serialize)]
pub(crate) struct MpiReport {
    family: Option<&'static str>,
    version: Option<String>,
    soname: Option<String>,
    #[serde(flatten)]
    symbols: Tally,
    /// In the same directory, or the library itself.
    fortran_bindings: Vec<FortranReport>,
}

/// Which C functions a library of the Fortran binding calls. Those it calls as `PMPI_*` reach C tools only because the
/// runtime rebinds them.
#[derive(Debug, Serialize)]
struct FortranReport {
    library: String,
    /// Each procedure has up to four, one for each compiler's spelling.
    names: usize,
    calls_mpi: usize,
    calls_pmpi: usize,
}

impl MpiReport {
    pub(crate) fn new(file: &ElfFile) -> Result<Self, ElfError> {
        let family = abi_family::family_of_library(file).or_else(|| abi_family::family_of_name(file.name()));
        Ok(Self {
            family: family.map(|family| family.name()),
            version: abi_family::library_version(file)?,
            soname: file.soname().map(str::to_owned),
            symbols: Tally::of(file),
            fortran_bindings: fortran_bindings(file, family),
        })
    }

    pub(crate) fn text(&self) -> String {
        let Tally { functions, profiling_functions, fortran_names, .. } = self.symbols;
        let or = |text: Option<&str>, other: &str| Some(text.unwrap_or(other).to_owned());
        let own = [
            ("kind", Some("MPI library".to_owned())),
            ("family", or(self.family, "unknown")),
            ("version", or(self.version.as_deref(), "not found in the file")),
            ("SONAME", or(self.soname.as_deref(), "none")),
            (
                "defines",
                Some(format!("{functions} MPI_*, {profiling_functions} PMPI_*, {fortran_names} Fortran names")),
            ),
        ];
        let bindings = self.fortran_bindings.iter().map(|FortranReport { library, names, calls_mpi, calls_pmpi }| {
            let names = count(*names, "name");
            ("Fortran", Some(format!("{library}: {names}, calling {calls_mpi} MPI_* and {calls_pmpi} PMPI_* of C")))
        });
        facts(own.into_iter().chain(bindings))
    }
}

/// Symbols of an object, counted.
#[derive(Debug, Default, Serialize)]
struct Tally {
    functions: usize,
    profiling_functions: usize,
    fortran_names: usize,
    #[serde(skip)]
    calls_mpi: usize,
    #[serde(skip)]
    calls_pmpi: usize,
}

impl Tally {
    fn of(file: &ElfFile) -> Self {
        let mut tally = Self::default();
        for symbol in file.symbols() {
            let Some(mpi) = classify(symbol.name) else {
                continue;
            };
            match (mpi.binding, symbol.defined, mpi.profiling) {
                (Binding::C, true, false) => tally.functions += 1,
                (Binding::C, true, true) => tally.profiling_functions += 1,
                (Binding::C, false, false) => tally.calls_mpi += 1,
                (Binding::C, false, true) => tally.calls_pmpi += 1,
                (_, true, _) => tally.fortran_names += 1,
                (_, false, _) => {}
            }
        }
        tally
    }
}

/// The Fortran libraries beside the library, each file once, and the library itself if it has the binding inside.
fn fortran_bindings(file: &ElfFile, family: Option<MpiFamily>) -> Vec<FortranReport> {
    let mut identities = Vec::new();
    let mut reports = Vec::new();
    let mut add = |file: &ElfFile| {
        let tally = Tally::of(file);
        if tally.fortran_names > 0 && !identities.contains(&file.identity()) {
            identities.push(file.identity());
            reports.push(FortranReport {
                library: file.name().to_owned(),
                names: tally.fortran_names,
                calls_mpi: tally.calls_mpi,
                calls_pmpi: tally.calls_pmpi,
            });
        }
    };
    add(file);
    // A system's library directory holds more than one MPI: only the family's.
    for name in neighbours(file.path()) {
        if abi_family::role_of(&name) == Some(Role::Fortran) && abi_family::family_of_name(&name) == family {
            let neighbour = file.path().with_file_name(&name);
            if let Ok(neighbour) = ElfFile::open_for(&neighbour, file.machine()) {
                add(&neighbour);
            }
        }
    }
    reports
}

fn neighbours(path: &Path) -> Vec<String> {
    // `libmpi.so` in a development package is a link into the directory where the others are.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let entries = path.parent().and_then(|directory| std::fs::read_dir(directory).ok());
    let names = entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
