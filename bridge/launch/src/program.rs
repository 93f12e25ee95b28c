//! The MPI program somewhere in COMMAND, looked at before it starts.
//!
//! Launchers take options of all kinds, so the command line is not understood but searched: the first argument that is an ELF
//! executable which needs an MPI library is the program. Scripts and programs that open MPI later are not found; their stack
//! is checked by the runtime.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use qmpi_abi::MpiFamily;
use qmpi_elf::mpi::abi_family::{self, Role};
use qmpi_elf::{
    Closure, ElfError, ElfErrorReason, ElfFile, SearchPath, is_dynamic_linker, is_glibc_family, is_mpi_soname, tool,
};

use crate::LaunchError;
use crate::executable;
use crate::executable::Privilege;
use crate::warning::Warning;

/// An MPI program.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: PathBuf,
    /// The name of the MPI library that it needs.
    pub library: String,
    /// The family of that library, if that can be told.
    pub family: Option<MpiFamily>,
    /// It, or a library that it is linked with, registers QMPI tools.
    pub registers_tools: bool,
}

impl Program {
    /// Is the library among those that it is linked with, and that these need, MPI's own included?
    pub fn brings(&self, soname: &str, search: &SearchPath) -> bool {
        let Ok(elf) = ElfFile::open_program(&self.path, search.machine()) else { return false };
        let closure = Closure::of(elf, Vec::new(), search, &|_| false);
        closure.objects.iter().any(|object| object.name() == soname)
    }

    /// The MPI that it uses, for messages.
    pub fn mpi(&self) -> &'static str {
        self.family.map_or("an MPI of unknown kind", MpiFamily::name)
    }
}

/// What was found in COMMAND.
#[derive(Debug, Default)]
pub struct FoundPrograms {
    /// The first MPI program.
    pub program: Option<Program>,
    /// What may keep the stack from working.
    pub warnings: Vec<Warning>,
}

/// Searches COMMAND. `path` is the value of PATH.
///
/// # Errors
/// [`LaunchError::StaticMpi`] for a program that contains its MPI library.
pub fn find(command: &[OsString], path: Option<&OsStr>, search: &SearchPath) -> Result<FoundPrograms, LaunchError> {
    let mut survey = FoundPrograms::default();
    let (mut without_linker, mut other_machine) = (None, None);
    for (i, word) in command.iter().enumerate() {
        if i > 0 && word.as_encoded_bytes().starts_with(b"-") {
            continue;
        }
        let Some(file) = executable::find(word, path).filter(|file| executable::is_executable(file)) else {
            continue;
        };
        let elf = match ElfFile::open_program(&file, search.machine()) {
            Ok(elf) => elf,
            Err(ElfError { path, reason: ElfErrorReason::Static }) => {
                if defines_mpi(&path) {
                    return Err(LaunchError::StaticMpi(path));
                }
                without_linker.get_or_insert(path);
                continue;
            }
            Err(ElfError { path, reason: ElfErrorReason::WrongClass | ElfErrorReason::ForeignMachine(_) }) => {
                other_machine.get_or_insert(path);
                continue;
            }
            // A script, an input file: not what is looked for.
            Err(_) => continue,
        };
        // An executable names its dynamic linker; libraries among the arguments do not.
        if elf.interp.is_none() {
            continue;
        }
        if let Some(Privilege { description, hint }) = Privilege::of(&file) {
            let message = format!("{} {description}: the dynamic linker ignores LD_PRELOAD there", file.display());
            survey.warnings.push(Warning::new(message, hint));
        }
        if let Some(program) = inspect(file, elf, search) {
            survey.program = Some(program);
            return Ok(survey);
        }
    }
    if let Some(path) = other_machine {
        survey.warnings.push(Warning::new(
            format!("{} is no 64-bit program of this machine: libqmpi.so cannot be preloaded into it", path.display()),
            "build the MPI program for x86-64",
        ));
    }
    if let Some(path) = without_linker {
        survey.warnings.push(Warning::new(
            format!("{} is linked statically: nothing can be preloaded into it", path.display()),
            "that is fine for a launcher; link an MPI program dynamically",
        ));
    }
    Ok(survey)
}

/// What an executable has to do with MPI.
#[derive(Debug)]
pub enum Executable {
    /// It is linked with an MPI library.
    Mpi(Program),
    /// It is linked with none; a library that it opens may be.
    WithoutMpi,
    /// It is linked statically; with or without MPI inside.
    Static {
        /// `PMPI_Init` is in it.
        has_mpi: bool,
    },
}

/// Looks at one executable.
///
/// # Errors
/// If it is no executable of this machine that can be read.
pub fn look_at(path: &Path, search: &SearchPath) -> Result<Executable, LaunchError> {
    match ElfFile::open_program(path, search.machine()) {
        Err(ElfError { path, reason: ElfErrorReason::Static }) => {
            Ok(Executable::Static { has_mpi: defines_mpi(&path) })
        }
        Err(error) => Err(error.into()),
        Ok(elf) => Ok(inspect(path.to_owned(), elf, search).map_or(Executable::WithoutMpi, Executable::Mpi)),
    }
}

fn inspect(path: PathBuf, elf: ElfFile, search: &SearchPath) -> Option<Program> {
    let stop = |name: &str| is_mpi_soname(name) || is_glibc_family(name) || is_dynamic_linker(name);
    let closure = Closure::of(elf, Vec::new(), search, &stop);
    // Launchers need the run-time layer of Open MPI, but not MPI itself.
    let mut libraries = closure.stopped.iter().filter(|name| {
        let file = name.rsplit('/').next().unwrap_or(name);
        matches!(abi_family::role_of(file), Some(Role::C | Role::Fortran))
    });
    let library = libraries.next()?.clone();
    let family = std::iter::once(&library).chain(libraries).find_map(|name| {
        // The library itself knows better than its name: libmpi.so.12 has been used by two families.
        let file =
            search.find(name, closure.root(), &[]).and_then(|file| ElfFile::open_for(&file, search.machine()).ok());
        file.and_then(|file| abi_family::family_of_library(&file)).or_else(|| abi_family::family_of_name(name))
    });
    let registers_tools = closure.objects.iter().any(tool::registers_tools);
    Some(Program { path, library, family, registers_tools })
}

/// Whether a file without dynamic section has `PMPI_Init` in a string table: its MPI library is inside.
fn defines_mpi(path: &Path) -> bool {
    const NAME: &[u8] = b"\0PMPI_Init\0";
    std::fs::read(path).is_ok_and(|contents| contents.windows(NAME.len()).any(|window| window == NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_without_mpi() {
        let command = ["sh", "-c", "true", "/etc/passwd"].map(OsString::from);
        let survey = find(&command, Some(OsStr::new("/bin:/usr/bin")), &SearchPath::new(None)).unwrap();
        assert!(survey.program.is_none() && survey.warnings.is_empty());
    }
}
