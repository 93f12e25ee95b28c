//! What `qmpi inspect` says about a program.

use std::fmt::Write;
use std::path::Path;

use qmpi_elf::SearchPath;
use qmpi_launch::executable::Privilege;
use qmpi_launch::program::{self, Executable};
use serde::Serialize;

use crate::Error;

/// Which MPI a program uses, and whether a stack can stand in front of it.
#[derive(Debug, Serialize)]
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
        let mut report = Self {
            mpi: None,
            library: None,
            is_static: false,
            registers_tools: false,
            can_have_stack: true,
            advice: Vec::new(),
        };
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
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            let _ = writeln!(text, "  {name:<11}{value}");
        };
        line("kind", if self.is_static { "program, linked statically" } else { "program" });
        match (&self.mpi, &self.library) {
            (Some(mpi), Some(library)) => line("MPI", &format!("{mpi} ({library})")),
            _ => line("MPI", "none that it is linked with"),
        }
        if self.registers_tools {
            line("QMPI", "it registers tools itself");
        }
        line("stack", if self.can_have_stack { "possible: qmpi run -t TOOL -- LAUNCHER ..." } else { "not possible" });
        for advice in &self.advice {
            line("advice", advice);
        }
        text
    }
}
