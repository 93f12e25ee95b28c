//! `qmpi inspect`: what a file is, what it intercepts, what it needs, what will not work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qmpi_elf::machine;
use qmpi_elf::{ElfFile, Machine, SearchPath, Tool, ToolKind};
use serde::Serialize;

use crate::Error;
use crate::args::InspectArgs;
use crate::plan::layer::kind_name;
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
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<ToolReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mpi: Option<MpiReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<ProgramReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Error>,
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
            FileReport { error: Some(error), ..FileReport::of(path, None) }
        });
        if !args.json && file.error.is_none() {
            terminal::answer(&format!("{gap}{}", file.text()))?;
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
    let report = inspect_for(path, with, foreign.as_ref().unwrap_or(search))?;
    Ok(FileReport { machine: Some(machine::platform(machine)), ..report })
}

fn inspect_for(path: &Path, with: &[PathBuf], search: &SearchPath) -> Result<FileReport, Error> {
    let is_program = |error: &qmpi_elf::ElfError| {
        use qmpi_elf::{ElfErrorReason as Reason, ObjectKind};
        matches!(error.reason, Reason::Static | Reason::NotSharedObject(ObjectKind::Executable))
    };
    let tool = match Tool::inspect_with(path, with, search, &|_| false) {
        Err(error) if with.is_empty() && is_program(&error) => {
            let program = Some(ProgramReport::new(path, search)?);
            return Ok(FileReport { program, ..FileReport::of(path, Some("program")) });
        }
        tool => tool?,
    };
    let kind = Some(kind_name(&tool.kind));
    let report = FileReport::of(path, kind);
    Ok(if tool.kind == ToolKind::MpiLibrary {
        FileReport { mpi: Some(MpiReport::new(tool.closure.root())?), ..report }
    } else {
        FileReport { tool: Some(ToolReport::new(&tool, search)), ..report }
    })
}

impl FileReport {
    fn of(path: &Path, kind: Option<&'static str>) -> Self {
        Self { path: path.to_owned(), kind, machine: None, tool: None, mpi: None, program: None, error: None }
    }

    fn text(&self) -> String {
        let heading = terminal::bold(&self.path.display().to_string());
        let tool = self.tool.as_ref().map(|tool| tool.text());
        let mpi = self.mpi.as_ref().map(|mpi| mpi.text());
        let program = self.program.as_ref().map(ProgramReport::text);
        let foreign = self.machine.filter(|machine| *machine != machine::HOST_NAME);
        let machine = foreign.map(|machine| {
            format!(
                "  machine    {machine}, and this one is {}: libraries that are not here were not looked at\n",
                machine::HOST_NAME
            )
        });
        format!("{heading}\n{}{}", machine.unwrap_or_default(), tool.or(mpi).or(program).unwrap_or_default())
    }
}
