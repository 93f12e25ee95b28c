//! What tools that register themselves intercept, for `qmpi list`: it is unknown before they are loaded.
//!
//! The command starts itself with `libqmpi.so` preloaded, and calls [`qmpi_core_survey`] there: the tools are loaded, one after
//! the other, and asked; then that process ends. Whatever goes wrong in a tool stays there, and what was answered before it
//! counts.
//!
//! ```text
//! request   1 TAB QMPI TAB heatmap TAB /opt/libheatmap.so       a line for each tool: place in the stack, from 1;
//!                                                               no path: a tool of the list may register the name
//! answer    qmpi-survey TAB 1 TAB + TAB MPI_Init MPI_Send        or - and why it is not known
//! ```
#![expect(unsafe_code, reason = "an exported function, and functions by name")]
#![allow(unreachable_pub, reason = "reached by name")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Display;
use std::path::{Path, PathBuf};

use qmpi_abi::FnId;
use qmpi_elf::{SearchPath, Tool};
use qmpi_loader::LoadError;
use qmpi_loader::process::dlsym;
use qmpi_plan::{PlanError, variable};

use crate::qmpi::native::{self, Libraries};
use crate::qmpi::{LayerError, ToolId, registry, tools};
use crate::thesis;

/// Loads the tools of the request, a C string, and prints an answer for each.
///
/// # Safety
/// `request` is a C string. The process does nothing else: tools that it loads stay.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qmpi_core_survey(request: *const c_char) {
    // SAFETY: the caller of this function passes a C string, as its contract says.
    let request = unsafe { CStr::from_ptr(request) };
    // The tools register themselves with libqmpi.so: it opens this library properly before they are loaded.
    type GetTools = extern "C" fn(c_int, *mut c_void, *mut c_int) -> c_int;
    let Some(get_tools) = dlsym::global(c"QMPIX_Get_tools") else { return };
    // SAFETY: the function of `qmpix.h` has this type.
    let get_tools = unsafe { std::mem::transmute::<usize, GetTools>(get_tools) };
    get_tools(0, std::ptr::null_mut(), &mut 0);
    survey(&request.to_string_lossy());
}

/// A tool that is asked for.
struct AskedTool {
    place: ToolId,
    is_thesis: bool,
    name: String,
    path: PathBuf,
}

impl AskedTool {
    fn parse(line: &str) -> Option<AskedTool> {
        let mut words = line.split('\t');
        let place = ToolId(words.next()?.parse().ok()?);
        let is_thesis = words.next()? == "thesis";
        Some(AskedTool { place, is_thesis, name: words.next()?.into(), path: words.next()?.into() })
    }

    fn answer<E: Display>(&self, functions: Result<Vec<(FnId, usize)>, E>) {
        let place = self.place.0;
        let text = match functions {
            Ok(functions) => {
                let names: Vec<&str> = functions.iter().map(|(id, _)| id.name()).collect();
                format!("+\t{}", names.join(" "))
            }
            Err(error) => format!("-\t{}", error.to_string().replace(['\n', '\t'], " ")),
        };
        // On a line of its own, whatever tools have printed before.
        let line = format!("\n{}\t{place}\t{text}\n", variable::SURVEY_ANSWER);
        // There is no reader left if stdout is closed.
        let _ = std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes());
    }
}

fn survey(text: &str) {
    let asked: Vec<AskedTool> = text.lines().filter_map(AskedTool::parse).collect();
    for tool in asked.iter().filter(|tool| tool.is_thesis) {
        tool.answer(of_thesis(&tool.path));
    }
    // All are loaded before one is initialized, as in a program.
    let mut libraries = Libraries::default();
    let mut named = Vec::new();
    let is_name_only = |tool: &&AskedTool| tool.path.as_os_str().is_empty();
    for tool in asked.iter().filter(|tool| !tool.is_thesis && !is_name_only(tool)) {
        match libraries.name_of(&tool.name, &tool.path) {
            Ok(name) => named.push((tool, name)),
            Err(error) => tool.answer(Err(error)),
        }
    }
    for tool in asked.iter().filter(is_name_only) {
        if registry::is_registered(&tool.name) {
            named.push((tool, tool.name.clone()));
        } else {
            tool.answer(Err("no tool of the list registers the name; the program may"));
        }
    }
    named.sort_by_key(|(tool, _)| tool.place);
    for (tool, name) in named {
        match native::initialize(tool.place, &[Some(&name)]).pop() {
            Some((_, error)) => tool.answer(Err(error)),
            None => tool.answer(Ok::<_, &str>(tools::functions(tool.place))),
        }
    }
}

fn of_thesis(path: &Path) -> Result<Vec<(FnId, usize)>, LayerError> {
    let tool = Tool::inspect(path, &[], &SearchPath::from_process(), &|_| false).map_err(PlanError::from);
    thesis::provide_general_names(&tool.map_err(LoadError::from)?)?;
    Ok(thesis::ThesisLibrary::open(path)?.functions)
}
