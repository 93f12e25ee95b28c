//! `qmpi inspect`: what a file is, what it intercepts, what it needs, what will not work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qmpi_elf::machine;
use qmpi_elf::{ElfFile, Machine, SearchPath, Tool, ToolKind};
use serde::Serialize;

use crate::Error;
use crate::args::InspectArgs;
use crate::plan::layer::kind_name;
use crate::report::listing::facts;
use crate::report::mpi::MpiReport;
use crate::report::program::ProgramReport;
use crate::report::tool::ToolReport;
use crate::terminal;

#[derive(Debug, Serialize)]
struct FileReport {
    path: PathBuf,
    /// `PMPI`, `QMPI`, `thesis`, `mpi-library`, `program`, `none`, or null for a file that cannot be inspected.
    kind: Option<&'static str>,
    /// `x86_64`, `aarch64`, or null for a file that cannot be inspected.
    machine: Option<&'static str>,
    #[serde(flatten)]
    found: FoundInFile,
}

/// What a file is.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase")]
enum FoundInFile {
    Tool(Box<ToolReport>),
    Mpi(MpiReport),
    Program(ProgramReport),
    Error(Error),
}

/// Inspects every file; one that is wrong is reported at once and does not stop the others. Whether all could be inspected.
pub(crate) fn inspect(args: &InspectArgs) -> Result<bool, Error> {
    let search = SearchPath::from_process();
    let mut files = Vec::new();
    let mut sound = true;
    let mut gap = "";
    for path in &args.paths {
        let file = inspect_file(path, &args.with, &search).unwrap_or_else(|error| {
            terminal::report(&error);
            sound = false;
            FileReport { path: path.clone(), kind: None, machine: None, found: FoundInFile::Error(error) }
        });
        if let Some(text) = file.text().filter(|_| !args.json) {
            terminal::answer(&format!("{gap}{text}"))?;
            gap = "\n";
        }
        files.push(file);
    }
    if args.json {
        terminal::answer_json(BTreeMap::from([("files", files)]))?;
    }
    Ok(sound)
}

/// A file for another machine is looked at with the libraries for it that are here, if any are.
fn inspect_file(path: &Path, with: &[PathBuf], search: &SearchPath) -> Result<FileReport, Error> {
    let machine = ElfFile::machine_of(path).unwrap_or(Machine::HOST);
    let foreign = (machine != Machine::HOST).then(|| SearchPath::from_process().for_machine(machine));
    let (kind, found) = find(path, with, foreign.as_ref().unwrap_or(search))?;
    Ok(FileReport { path: path.to_owned(), kind: Some(kind), machine: Some(machine::platform(machine)), found })
}

fn find(path: &Path, with: &[PathBuf], search: &SearchPath) -> Result<(&'static str, FoundInFile), Error> {
    let is_program = |error: &qmpi_elf::ElfError| {
        use qmpi_elf::{ElfErrorReason as Reason, ObjectKind};
        matches!(error.reason, Reason::Static | Reason::NotSharedObject(ObjectKind::Executable))
    };
    let tool = match Tool::inspect(path, with, search, &|_| false) {
        Err(error) if with.is_empty() && is_program(&error) => {
            return Ok(("program", FoundInFile::Program(ProgramReport::new(path, search)?)));
        }
        tool => tool?,
    };
    let found = match tool.kind {
        ToolKind::MpiLibrary => FoundInFile::Mpi(MpiReport::new(tool.closure.root())?),
        _ => FoundInFile::Tool(Box::new(ToolReport::new(&tool, search))),
    };
    Ok((kind_name(&tool.kind), found))
}

impl FileReport {
    /// For people; nothing where an error says why.
    fn text(&self) -> Option<String> {
        let text = match &self.found {
            FoundInFile::Tool(tool) => tool.text(),
            FoundInFile::Mpi(mpi) => mpi.text(),
            FoundInFile::Program(program) => program.text(),
            FoundInFile::Error(_) => return None,
        };
        let foreign = self.machine.filter(|machine| *machine != machine::HOST_NAME);
        let machine = foreign.map(|machine| {
            format!("{machine}, and this one is {}: libraries that are not here were not looked at", machine::HOST_NAME)
        });
        let heading = terminal::bold(&self.path.display().to_string());
        Some(format!("{heading}\n{}{text}", facts([("machine", machine)])))
    }
}
