//! What `qmpi inspect` says about a program.

use std::path::Path;

use qmpi_elf::SearchPath;
use qmpi_launch::executable::Privilege;
use qmpi_launch::program::{self, Executable};
use serde::Serialize;

use crate::Error;
use crate::report::listing::facts;

/// Which MPI a program uses, and whether a stack can stand in front of it.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ProgramReport {
    /// Null where none is known before it runs.
    mpi: Option<&'static str>,
    library: Option<String>,
    is_static: bool,
    /// It registers QMPI tools itself.
    registers_tools: bool,
    /// Can the runtime be preloaded into it?
    can_have_stack: bool,
    advice: Vec<String>,
}

impl ProgramReport {
    pub(crate) fn new(path: &Path, search: &SearchPath) -> Result<Self, Error> {
        let mut report = Self { can_have_stack: true, ..Self::default() };
        match program::look_at(path, search)? {
            Executable::Mpi(program) => {
                report.mpi = Some(program.mpi());
                report.registers_tools = program.registers_tools;
                report.advice.push(match program.family {
                    Some(family) => format!("use the launcher of {family}, and tools that are built for it"),
                    None => "use the launcher and tools of the MPI that it is built for".to_owned(),
                });
                report.library = Some(program.library);
            }
            Executable::WithoutMpi => {
                report.advice.push("it is linked with no MPI; a stack begins where it opens a library that is".into());
            }
            Executable::Static { has_mpi } => {
                report.is_static = true;
                report.can_have_stack = false;
                report.advice.push(match has_mpi {
                    true => "MPI is inside of it: link it with the shared MPI library".into(),
                    false => "nothing can be preloaded into it".into(),
                });
            }
        }
        if let Some(privilege) = Privilege::of(path) {
            report.can_have_stack = false;
            report.advice.push(format!("it {}: {}", privilege.description, privilege.hint));
        }
        Ok(report)
    }

    pub(crate) fn text(&self) -> String {
        let kind = if self.is_static { "program, linked statically" } else { "program" };
        let mpi = match (&self.mpi, &self.library) {
            (Some(mpi), Some(library)) => format!("{mpi} ({library})"),
            _ => "none that it is linked with".to_owned(),
        };
        let stack = if self.can_have_stack { "possible: qmpi run -t TOOL -- LAUNCHER ..." } else { "not possible" };
        let own = [
            ("kind", Some(kind.to_owned())),
            ("MPI", Some(mpi)),
            ("QMPI", self.registers_tools.then(|| "it registers tools itself".to_owned())),
            ("stack", Some(stack.to_owned())),
        ];
        facts(own.into_iter().chain(self.advice.iter().map(|advice| ("advice", Some(advice.clone())))))
    }
}
