//! Native QMPI tools: their libraries, their names, their init callbacks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;
use qmpi_abi::numbering::Numbering;
use qmpi_elf::{MpiFamily, NumberingNote, Tool};
use qmpi_loader::Process;
use qmpi_loader::image::Image;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::process::loader_lock;
use qmpi_system::log;
use thiserror::Error;

use super::{numbering, registry, tools};
use crate::chain::ToolId;

/// A native tool could not be brought into the stack.
#[derive(Debug, Error)]
pub(crate) enum NativeError {
    /// The library does not load.
    #[error("{}: {message}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What the dynamic linker says.
        message: String,
    },
    /// The library registers nothing.
    #[error("{}: it is a QMPI tool, but it registered no name", path.display())]
    NoName {
        /// The library.
        path: PathBuf,
    },
    /// Its name belongs to another library already.
    #[error("{}: the name {name} is registered by another library", path.display())]
    NameTaken {
        /// The library.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The library registers several names, none of which was asked for.
    #[error("{}: it registers {names}, and not {name}", path.display())]
    OtherNames {
        /// The library.
        path: PathBuf,
        /// The name asked for.
        name: String,
        /// Those it has.
        names: String,
    },
    /// It means functions by the numbers of a release that is not known.
    #[error("{}: its number {number} stands for a function of {header}, whose numbers are not known", path.display())]
    UnknownNumbers {
        /// The object with its init callback.
        path: PathBuf,
        /// The first such number.
        number: i32,
        /// The MPI whose header it is compiled with.
        header: String,
    },
    /// It means functions by numbers, and nothing tells of which numbering.
    #[error(
        "{}: its number {number} stands for a function of the mpi.h that it is compiled with, and nothing in the file says \
         which that is",
        path.display()
    )]
    Numbers {
        /// The object with its init callback.
        path: PathBuf,
        /// The first such number.
        number: i32,
    },
    /// Its parts mean different functions by the same number.
    #[error("{}: its parts are compiled with different numbers of functions: {headers}", path.display())]
    Numberings {
        /// The object with its init callback.
        path: PathBuf,
        /// Those of which MPIs.
        headers: String,
    },
}

impl NativeError {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            NativeError::Load { .. } => "see whether it loads with LD_PRELOAD, and what LD_DEBUG=all says".into(),
            NativeError::NoName { .. } => {
                "it must call QMPI_Register_tool_name from a constructor, with a name of its own".into()
            }
            NativeError::NameTaken { .. } => {
                "names of QMPI tools are unique: use one of the two libraries, as often as you like".into()
            }
            NativeError::OtherNames { path, .. } => format!("write NAME={}", path.display()),
            NativeError::UnknownNumbers { .. } => {
                "compile the tool with another release of MPICH, or let it use functions by name (QMPIX_*_by_name)"
                    .into()
            }
            NativeError::Numbers { .. } => "include qmpi.h in the tool, and compile it again".into(),
            NativeError::Numberings { .. } => "compile all of the tool with one mpi.h".into(),
        })
    }
}

/// A library that was loaded for the stack.
struct Library {
    path: PathBuf,
    /// The names that it registered when it was loaded.
    names: Vec<String>,
    /// Names that it wanted to register, and that were taken.
    refused: Vec<String>,
    /// It was there before: linked with the program, preloaded, or the same file under another name. Then any name may be
    /// one of its.
    was_there: bool,
}

/// Libraries loaded so far.
#[derive(Default)]
pub(crate) struct Libraries(Vec<Library>);

/// Those that were loaded while start-up waited for a name.
static EARLY: Mutex<Vec<Library>> = Mutex::new(Vec::new());

impl Libraries {
    /// Takes what [`Libraries::keep`] has kept.
    pub(crate) fn loaded_early() -> Libraries {
        Libraries(std::mem::take(&mut EARLY.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Keeps what is known of them until the stack is built.
    pub(crate) fn keep(self) {
        *EARLY.lock().unwrap_or_else(PoisonError::into_inner) = self.0;
    }

    /// Loads the library of a layer, unless it is loaded, and finds the registered name that the layer means.
    ///
    /// # Errors
    /// When it does not load or registers no fitting name.
    pub(crate) fn name_of(&mut self, name: &str, path: &Path) -> Result<String, NativeError> {
        let known = self.0.iter().position(|library| library.path == path);
        let index = match known {
            Some(index) => index,
            None => {
                self.0.push(load(path)?);
                self.0.len() - 1
            }
        };
        let Library { names, refused, was_there, .. } = &self.0[index];
        if names.iter().any(|known| known == name) || (*was_there && registry::find(name).is_some()) {
            return Ok(name.into());
        }
        // A library that registers a name twice is refused the second time; the name is its own.
        let mut of_others = refused.iter().filter(|refused| !names.contains(refused));
        if let Some(taken) = of_others.clone().find(|refused| *refused == name).or_else(|| of_others.next()) {
            return Err(NativeError::NameTaken { path: path.into(), name: taken.clone() });
        }
        match names.as_slice() {
            [] => Err(NativeError::NoName { path: path.into() }),
            [only] => Ok(only.clone()),
            several => {
                let names = several.join(", ");
                Err(NativeError::OtherNames { path: path.into(), name: name.into(), names })
            }
        }
    }
}

/// The init callbacks of all registered names.
pub(crate) fn callbacks() -> Vec<usize> {
    registry::callbacks().map(|init| init as *const () as usize).collect()
}

/// Is this name registered already?
pub(crate) fn is_registered(name: &str) -> bool {
    registry::find(name).is_some()
}

/// Loads a library into the base namespace. Its constructors register names.
fn load(path: &Path) -> Result<Library, NativeError> {
    #![expect(unsafe_code, reason = "constructors of the tool run")]
    use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
    let before = registry::len();
    registry::take_refused();
    // SAFETY: nothing is loaded that is not there.
    let was_there = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) }.is_ok();
    // SAFETY: the user asked for the tool; its constructors run as they would if the program were linked with it.
    let library = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|error| {
        let message = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        NativeError::Load { path: path.into(), message }
    })?;
    // Its functions are in the chain for as long as the process lives.
    std::mem::forget(library);
    Ok(Library {
        path: path.into(),
        names: registry::names_after(before),
        refused: registry::take_refused(),
        was_there,
    })
}

/// Opens a QMPI tool that comes with this library, and returns the name that it registers.
///
/// # Errors
/// When it does not load or registers no name.
pub(crate) fn open_beside(path: &Path) -> Result<String, NativeError> {
    registry::open();
    let library = load(path);
    registry::closed(|| library)?.names.pop().ok_or_else(|| NativeError::NoName { path: path.into() })
}

/// Runs the init callback behind a name for one more instance, which is no layer, and returns what it has registered.
pub(crate) fn instance(name: &str, tool: ToolId) -> Vec<(FnId, usize)> {
    let Some(init) = registry::find(name) else { return Vec::new() };
    tools::draft(tool, Numbering::OWN);
    registry::closed(|| init(tool.0));
    tools::take_functions(tool)
}

/// Lets libraries of another stack register names, until [`initialize`].
pub(crate) fn accept_names() {
    registry::open();
}

/// All names that are registered.
pub(crate) fn registered_names() -> Vec<String> {
    registry::names_after(0)
}

/// Runs the init callbacks in stack order: layer `first + i` is a native tool if `names[i]` is its registered name. Returns
/// which layers cannot be set up, by their place.
pub(crate) fn initialize(first: ToolId, names: &[Option<String>]) -> Vec<(usize, NativeError)> {
    registry::closed(|| run_callbacks(first, names))
}

fn run_callbacks(first: ToolId, names: &[Option<String>]) -> Vec<(usize, NativeError)> {
    let images = if names.iter().any(Option::is_some) { Listed::now().into_images() } else { Vec::new() };
    let mut failed = Vec::new();
    for ((place, name), tool) in names.iter().enumerate().zip((first.0..).map(ToolId)) {
        if let Some(init) = name.as_deref().and_then(registry::find)
            && let Err(error) = initialize_one(tool, init, &images)
        {
            failed.push((place, error));
        }
    }
    failed
}

fn initialize_one(tool: ToolId, init: registry::Init, images: &[Image]) -> Result<(), NativeError> {
    // Not the file that was named: a tool may be in a library of that file, or in the program.
    let image = images.iter().find(|image| image.contains(init as *const () as usize));
    let path = || image.map_or_else(PathBuf::new, |image| image.path().to_owned());
    let notes = image.map(Image::numberings).unwrap_or_default();
    let numbering = match notes.as_slice() {
        [] => numbering::of_mpich().unwrap_or(Numbering::UNKNOWN),
        [first, others @ ..] => {
            let numbering = first.numbering(numbering::of_process());
            if others.iter().any(|other| other.numbering(numbering::of_process()) != numbering) {
                let headers = notes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(NativeError::Numberings { path: path(), headers });
            }
            numbering
        }
    };
    if let Some(note @ NumberingNote::Mpich(_)) = notes.first() {
        warn_of_handles(&path(), *note);
    }
    log::debug(|| format!("{}: functions are numbered as in {}", path().display(), numbering.name));
    tools::draft(tool, numbering);
    init(tool.0);
    let Some(number) = tools::unreadable(tool.0) else { return Ok(()) };
    Err(match notes.first() {
        Some(note) => NativeError::UnknownNumbers { path: path(), number, header: note.to_string() },
        None => NativeError::Numbers { path: path(), number },
    })
}

/// Numbers can be translated, the types of handles cannot.
fn warn_of_handles(path: &Path, header: NumberingNote) {
    let Some(process) = loader_lock::with(Process::with_mpi) else { return };
    if process.family() != Some(MpiFamily::Mpich) {
        let text = format!("{}: the mpi.h of {header} has other handles than {}", path.display(), process.mpi_name());
        log::warn(&text, Some("compile the tool for this MPI, unless it intercepts only functions without handles"));
    }
}

/// What a tool registered.
pub(crate) fn functions(tool: ToolId) -> Vec<(FnId, usize)> {
    tools::functions(tool)
}

/// Does the tool ask where the application called?
pub(crate) fn asks_for_caller(tool: &Tool) -> bool {
    const NAMES: [&str; 2] = ["QMPI_Get_calling_address", "MPI_Get_calling_address"];
    tool.closure.objects.iter().any(|object| object.imports().any(|symbol| NAMES.contains(&symbol.name)))
}
