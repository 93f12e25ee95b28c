//! A process without MPI whose stack is for all processes: the MPI library is opened that the tools are linked with.
//!
//! A preloaded tool brings its MPI library into each process, behind all that the program needs. So it is opened here, in the program's
//! namespace and with RTLD_GLOBAL, which puts it at the same place. What the program opens later and what needs a library of this SONAME
//! then finds this one, as under `LD_PRELOAD`. A program that opens another MPI after all cannot use the stack: that is said, and ends the
//! process, as it would if that MPI had been there from the start.
#![expect(unsafe_code, reason = "dlopen")]

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::OnceLock;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::{SearchPath, Tool, is_mpi_soname};
use qmpi_loader::Process;
use qmpi_loader::image::Image;
use qmpi_plan::{Inspector, Processes};
use qmpi_system::log;

use crate::requested::Requested;

/// The name of the library that was opened.
static OPENED: OnceLock<String> = OnceLock::new();

/// The process with an MPI library, if the stack is for all processes and one of its tools is linked with one that can be opened.
pub(crate) fn open(lock: &LinkerLock) -> Option<Process> {
    let requested = Requested::from_env();
    if requested.stack.processes != Processes::All {
        return None;
    }
    let search = SearchPath::from_process();
    let mut inspector = Inspector::new(&search);
    let layers = requested.stack.layers.iter().filter(|layer| layer.on_rank(requested.rank) && !layer.is_name_only());
    // What is wrong with a tool is said when it is its turn.
    let planned = layers.filter_map(|layer| inspector.plan(layer.clone(), &|_| false).ok());
    let path = planned.into_iter().find_map(|planned| mpi_of(planned.tool()?, &search));
    let Some(path) = path else {
        log::debug(|| "no tool is linked with an MPI library: they are loaded when the process has one".into());
        return None;
    };
    let name = CString::new(path.clone().into_os_string().into_vec()).ok()?;
    // SAFETY: constructors of an MPI library run, as they do where a tool is preloaded that needs it.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_GLOBAL | libc::RTLD_NODELETE) };
    if handle.is_null() {
        log::warn(&format!("{} cannot be opened, which tools are linked with", path.display()), None);
        return None;
    }
    let process = Process::with_mpi(lock)?;
    let _ = OPENED.set(process.mpi_name().to_owned());
    Some(process)
}

/// Where the MPI library is that a tool, or a library of its own, is linked with: that of C, which brings the others.
fn mpi_of(tool: &Tool, search: &SearchPath) -> Option<PathBuf> {
    let objects = &tool.closure.objects;
    let needed = objects.iter().flat_map(|object| object.needed().iter().map(move |name| (object, name)));
    let (of_c, others): (Vec<_>, Vec<_>) = needed
        .filter(|(_, name)| is_mpi_soname(name))
        .partition(|(_, name)| qmpi_elf::is_mpi_c_library_file_name(name));
    // A preloaded tool's RPATH holds for the libraries that it brings.
    of_c.into_iter().chain(others).find_map(|(object, name)| {
        let found = search.find(name, object, &[tool.closure.root()]);
        found.or_else(|| search.find(name, tool.closure.root(), &[]))
    })
}

/// Was the MPI library of this process opened here? Until the process calls it, nothing is to be told of it.
pub(crate) fn is_opened() -> bool {
    OPENED.get().is_some()
}

/// The process may have opened another MPI than the one that its tools are bound to.
pub(crate) fn check(images: &[Image]) {
    let Some(opened) = OPENED.get() else { return };
    let other = images.iter().find(|image| qmpi_loader::process::is_mpi_implementation(image));
    if let Some(other) = other {
        let path = OsString::from(other.path());
        log::fatal(
            &format!("the program opened {}, and its tools are linked with {opened}", path.to_string_lossy()),
            Some("use tools that are built for the program's MPI, or leave --all-processes out"),
        );
    }
}
