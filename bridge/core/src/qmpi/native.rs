//! Native QMPI tools: their libraries, their names, their init callbacks.

use std::path::{Path, PathBuf};

use qmpi_abi::numbering::Numbering;
use qmpi_abi::{FnId, MpiFamily};
use qmpi_elf::{NumberingNote, Tool};
use qmpi_loader::Process;
use qmpi_loader::image::Image;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::process::loader_lock;
use qmpi_ring::core_functions::Init;
use qmpi_system::{Locked, log};

use super::error::LayerError;
use super::tool_id::ToolId;
use super::{mpi, registry, tools};

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
static EARLY: Locked<Vec<Library>> = Locked::new(Vec::new());

impl Libraries {
    /// Takes what [`Libraries::keep`] has kept.
    pub(crate) fn loaded_early() -> Libraries {
        Libraries(std::mem::take(&mut EARLY.lock()))
    }

    /// Keeps what is known of them until the stack is built.
    pub(crate) fn keep(self) {
        *EARLY.lock() = self.0;
    }

    /// Loads the library of a layer, unless it is loaded, and finds the registered name that the layer means.
    ///
    /// # Errors
    /// When it does not load or registers no fitting name.
    pub(crate) fn name_of(&mut self, name: &str, path: &Path) -> Result<String, LayerError> {
        let index = match self.0.iter().position(|library| library.path == path) {
            Some(index) => index,
            None => {
                self.0.push(load(path)?);
                self.0.len() - 1
            }
        };
        let Library { names, refused, was_there, .. } = &self.0[index];
        if names.iter().any(|known| known == name) || (*was_there && registry::is_registered(name)) {
            return Ok(name.into());
        }
        // A library that registers a name twice is refused the second time; the name is its own.
        let mut of_others = refused.iter().filter(|refused| !names.contains(refused));
        if let Some(taken) = of_others.clone().find(|refused| *refused == name).or_else(|| of_others.next()) {
            return Err(LayerError::NameTaken { path: path.into(), name: taken.clone() });
        }
        match names.as_slice() {
            [] => Err(LayerError::NoName { path: path.into() }),
            [only] => Ok(only.clone()),
            several => {
                let names = several.join(", ");
                Err(LayerError::OtherNames { path: path.into(), name: name.into(), names })
            }
        }
    }
}

/// Loads a library into the base namespace. Its constructors register names.
fn load(path: &Path) -> Result<Library, LayerError> {
    #![expect(unsafe_code, reason = "constructors of the tool run")]
    use libloading::os::unix::{Library as Handle, RTLD_LOCAL, RTLD_NOW};
    // SAFETY: nothing is loaded that is not there.
    let was_there = unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL | libc::RTLD_NOLOAD) }.is_ok();
    // SAFETY: the user asked for the tool; its constructors run as they would if the program were linked with it.
    let open = || unsafe { Handle::open(Some(path), RTLD_NOW | RTLD_LOCAL) };
    let (library, names, refused) = registry::registered_by(open);
    // Its functions are in the chain for as long as the process lives.
    std::mem::forget(library.map_err(|error| LayerError::of_linker(path, &error))?);
    Ok(Library { path: path.into(), names, refused, was_there })
}

/// Opens a QMPI tool that comes with this library, and returns the name that it registers.
///
/// # Errors
/// When it does not load or registers no name.
pub(crate) fn open_beside(path: &Path) -> Result<String, LayerError> {
    registry::open();
    let library = load(path);
    registry::closed(|| library)?.names.pop().ok_or_else(|| LayerError::NoName { path: path.into() })
}

/// Runs the init callback behind a name for one more instance, which is no layer, and returns what it has registered.
pub(crate) fn instance(name: &str, tool: ToolId) -> Vec<(FnId, usize)> {
    let Some(init) = registry::find(name) else { return Vec::new() };
    tools::draft(tool, Numbering::OWN);
    registry::closed(|| init(tool.0));
    tools::take_functions(tool)
}

/// Runs the init callbacks in stack order: layer `first + i` is a native tool if `names[i]` is its registered name. Returns
/// which layers cannot be set up, by their place.
pub(crate) fn initialize(first: ToolId, names: &[Option<&str>]) -> Vec<(usize, LayerError)> {
    let images = if names.iter().any(Option::is_some) { Listed::now().into_images() } else { Vec::new() };
    let run = |((place, name), tool): ((usize, &Option<&str>), i32)| {
        let error = initialize_one(ToolId(tool), registry::find((*name)?)?, &images).err()?;
        Some((place, error))
    };
    registry::closed(|| names.iter().enumerate().zip(first.0..).filter_map(run).collect())
}

fn initialize_one(tool: ToolId, init: Init, images: &[Image]) -> Result<(), LayerError> {
    // Not the file that was named: a tool may be in a library of that file, or in the program.
    let image = images.iter().find(|image| image.contains(init as *const () as usize));
    let path = || image.map_or_else(PathBuf::new, |image| image.path().to_owned());
    let notes = image.map(Image::numberings).unwrap_or_default();
    let numbering = match notes.as_slice() {
        [] => mpi::numbering_of_mpich().unwrap_or(Numbering::UNKNOWN),
        [first, others @ ..] => {
            let numbering = first.numbering(mpi::numbering());
            if others.iter().any(|other| other.numbering(mpi::numbering()) != numbering) {
                let headers = notes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                return Err(LayerError::Numberings { path: path(), headers });
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
        Some(note) => LayerError::UnknownNumbers { path: path(), number, header: note.to_string() },
        None => LayerError::Numbers { path: path(), number },
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

/// Does the tool ask where the application called?
pub(crate) fn asks_for_caller(tool: &Tool) -> bool {
    const NAMES: [&str; 2] = ["QMPI_Get_calling_address", "MPI_Get_calling_address"];
    tool.closure.objects.iter().any(|object| object.imports().any(|symbol| NAMES.contains(&symbol.name)))
}
