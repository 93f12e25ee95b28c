//! `qmpi run --trace`: the calls of this rank, in a file of the report's directory (`qmpi_abi::trace`).
//!
//! The first line of the file says what the words of the calls mean: whose MPI it is, and where the variables are that its handles are the
//! addresses of, and where code is, so that the program's calls have places. It is written when the stack is there; calls of constructors before
//! that are recorded already.

use std::ffi::CString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::trace::{HEAD, VERSION};
use qmpi_elf::MpiFamily;
use qmpi_links::probe;
use qmpi_links::trace::{self, Limit};
use qmpi_loader::image::Image;
use qmpi_loader::{Instance, Process};
use qmpi_system::log;

use crate::report::lost_stack;
use crate::report::recorder::quoted;

/// The file, as long as it can be completed.
struct File {
    path: PathBuf,
    rank: u32,
    limit: String,
    family: MpiFamily,
    began: (std::time::SystemTime, u64),
    /// The names of objects of the MPI library and their addresses.
    objects: Vec<(String, usize)>,
    mpi: String,
    /// Objects of tools in namespaces of their own: their addresses, and the tool's file.
    tools: Vec<(usize, usize, PathBuf)>,
}

/// Behind the limit: what is in buffers is recorded as well.
const BUFFERS: &str = ",buffers";

static FILE: Mutex<Option<File>> = Mutex::new(None);

/// Prepares a trace if the environment asks for one; to be called before the first probe is made.
pub(crate) fn prepare(process: &Process, directory: &Path, rank: u32) {
    let Some(value) = std::env::var(qmpi_plan::variable::TRACE).ok().filter(|value| !value.is_empty()) else { return };
    let (calls, has_contents) = value.strip_suffix(BUFFERS).map_or((&*value, false), |calls| (calls, true));
    let (Some(limit), Some(family)) = (limit(calls), process.family()) else {
        let message = format!("QMPI_TRACE={value}: it is all, first:N or last:N, and {BUFFERS} may be behind it");
        return log::report_error(&message, None);
    };
    let path = place(directory, rank);
    let Ok(file) = CString::new(path.as_os_str().as_bytes()) else { return };
    let objects = process.predefined_objects();
    trace::prepare(limit, has_contents, family, file, |id| process.real(id), &objects);
    let file = File {
        path,
        rank,
        limit: calls.to_owned(),
        family,
        began: (std::time::SystemTime::now(), probe::ticks()),
        objects,
        mpi: process.mpi_name().to_owned(),
        tools: Vec::new(),
    };
    let error = std::fs::create_dir_all(directory).and_then(|()| trace::start_file(&file.line(&[], None))).err();
    if let Some(error) = error {
        return log::report_error(&format!("{}: no calls are recorded: {error}", file.path.display()), None);
    }
    *FILE.lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
}

/// A tool is loaded: a call that none of its wrappers makes, as that of a constructor, comes from these objects.
pub(crate) fn loaded(path: &Path, instance: &Instance) {
    let mut file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = file.as_mut() else { return };
    let (_, objects) = instance.objects();
    file.tools.extend(objects.into_iter().map(|(start, end)| (start, end, path.to_owned())));
}

/// The stack is there, or the process ends: the file's first line is completed.
pub(crate) fn complete(layers: &[String], is_end: bool) {
    let file = FILE.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(file) = file.as_ref() else { return };
    let lost = is_end.then(trace::lost);
    if let Err(error) = trace::start_file(&file.line(layers, lost)) {
        log::report_error(&format!("{}: {error}", file.path.display()), None);
    }
}

/// `all`, `first:N`, `last:N`.
fn limit(text: &str) -> Option<Limit> {
    match text.split_once(':') {
        None if text == "all" => Some(Limit::All),
        Some(("first", calls)) => calls.parse().ok().map(Limit::First),
        Some(("last", calls)) => calls.parse().ok().map(Limit::Last),
        _ => None,
    }
}

/// `trace-RANK.calls`; where that is taken, as in a process that was spawned, with the number of the process.
fn place(directory: &Path, rank: u32) -> PathBuf {
    let path = directory.join(format!("trace-{rank}.calls"));
    if path.exists() { directory.join(format!("trace-{rank}.{}.calls", std::process::id())) } else { path }
}

impl File {
    fn line(&self, layers: &[String], lost: Option<u64>) -> String {
        let layers: Vec<String> = layers.iter().map(|label| quoted(label)).collect();
        let family = match self.family {
            MpiFamily::Mpich => "mpich",
            MpiFamily::OpenMpi => "openmpi",
            MpiFamily::StandardAbi => "abi",
        };
        let size = lost_stack::world_size().map_or_else(|| "null".to_owned(), |size| size.to_string());
        let nanoseconds =
            |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let mut text = format!("{{\"version\":{VERSION},\"rank\":{},\"size\":{size}", self.rank);
        let _ =
            write!(text, ",\"process\":{},\"mpi\":{},\"family\":\"{family}\"", std::process::id(), quoted(&self.mpi));
        let _ = write!(text, ",\"calls\":{},\"layers\":[{}]", quoted(&self.limit), layers.join(","));
        let _ = write!(text, ",\"clocks\":[[{},{}]", nanoseconds(self.began.0), self.began.1);
        let _ = write!(text, ",[{},{}]]", nanoseconds(std::time::SystemTime::now()), probe::ticks());
        let lost = lost.map_or_else(|| "null".to_owned(), |lost| lost.to_string());
        let _ = write!(text, ",\"lost\":{lost},\"objects\":{{");
        let mut before = "";
        for (name, address) in &self.objects {
            let _ = write!(text, "{before}\"{name}\":{address}");
            before = ",";
        }
        text.push_str("},\"code\":[");
        self.write_code(&mut text);
        text.push_str("]}\n");
        text
    }

    /// Where the code of each object is, what is added to its addresses, and its file: as far as there is room, the program first.
    fn write_code(&self, text: &mut String) {
        let images = Image::of_process();
        let of_image = |image: &Image| {
            let (base, path) = (image.base(), image.path().to_owned());
            image.code_ranges().map(move |part| (part.start, part.end, base, path.clone())).collect::<Vec<_>>()
        };
        let of_tools = self.tools.iter().map(|(start, end, path)| (*start, *end, *start, path.clone()));
        let mut before = "";
        for (start, end, base, path) in images.iter().flat_map(of_image).chain(of_tools) {
            let entry = format!("{before}[{start},{end},{base},{}]", quoted(&path.to_string_lossy()));
            if text.len() + entry.len() + 8 > HEAD {
                return;
            }
            text.push_str(&entry);
            before = ",";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(limit("all"), Some(Limit::All));
        assert_eq!(limit("first:1000"), Some(Limit::First(1000)));
        assert_eq!(limit("last:7"), Some(Limit::Last(7)));
        assert_eq!((limit("7"), limit("last:"), limit("")), (None, None, None));
    }
}
