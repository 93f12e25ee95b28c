//! The stack that the environment of this process asks for.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use qmpi_elf::{ElfFile, Machine, SearchPath};
use qmpi_plan::{PassedOver, Request, Stack};
use qmpi_system::log;

use crate::qmpi::registry;

/// What the environment asks for.
pub(crate) struct Requested {
    pub(crate) stack: Stack,
    /// This process's rank, as far as the launcher told it.
    pub(crate) rank: Option<u32>,
}

impl Requested {
    /// Reads the environment. What is wrong with it ends the process.
    pub(crate) fn from_env() -> Requested {
        let get = |name: &str| std::env::var_os(name);
        let rank = qmpi_plan::rank_from_env(&get);
        log::set_speaker(rank.unwrap_or(0) == 0);
        let resolved = Request::from_env(&get).and_then(|request| {
            log::set_level(request.log);
            with_registered_names(request).resolve(&in_linker_path)
        });
        match resolved {
            Ok(stack) => {
                say_what_is_passed_over(&stack);
                Requested { stack, rank }
            }
            Err(error) => log::fatal(&error.to_string(), Some(error.hint())),
        }
    }

    /// The same for a named stack of the configuration file.
    pub(crate) fn named(name: &str) -> Result<Requested, qmpi_plan::PlanError> {
        let get = |name: &str| std::env::var_os(name);
        let request = with_registered_names(Request::from_env(&get)?);
        let stack = request.resolve_named(name, &in_linker_path)?;
        Ok(Requested { stack, rank: qmpi_plan::rank_from_env(&get) })
    }

    /// Is there a name that neither a file has nor a tool has registered so far?
    pub(crate) fn waits_for_names(&self) -> bool {
        let mut names = self.stack.unresolved.iter().filter_map(|(index, _)| self.stack.layers.get(*index));
        names.any(|layer| !registry::is_registered(&layer.name))
    }
}

/// `TOOLS` may be meant for another program: then the message has the level info. Said once, however often the environment is read.
fn say_what_is_passed_over(stack: &Stack) {
    static IS_SAID: AtomicBool = AtomicBool::new(false);
    let Some(passed_over) = &stack.passed_over else { return };
    if IS_SAID.swap(true, Ordering::Relaxed) {
        return;
    }
    if passed_over.is_meant {
        log::warn(&passed_over.to_string(), Some(PassedOver::HINT));
    } else {
        log::once(log::LogLevel::Info, &passed_over.to_string());
    }
}

/// A name that a tool has registered stands for it, whatever files there are; others may still be registered.
fn with_registered_names(request: Request) -> Request {
    Request { keep_names: true, registered: registry::names(), ..request }
}

fn in_linker_path(name: &str) -> Option<PathBuf> {
    let program = ElfFile::open_program(&std::env::current_exe().ok()?, Machine::HOST).ok()?;
    SearchPath::from_process().find(name, &program, &[])
}
