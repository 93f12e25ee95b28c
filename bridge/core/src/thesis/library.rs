//! A library of tools of the 2018 prototype: opened once, in the base namespace, and asked for its wrappers once per layer. Names that it may
//! want of the process.
#![expect(
    unsafe_code,
    reason = "constructors of the tool run, and its get_interceptions; C functions that follow pointers of their callers"
)]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};
use qmpi_abi::{FnId, thesis};
use qmpi_elf::Tool;
use qmpi_loader::LoadError;
use qmpi_loader::process::{dlsym, scope_end};
use qmpi_ring::thesis::{DynamicLib, Vector};

use crate::qmpi::LayerError;

/// What one layer has from its library.
#[derive(Debug)]
pub(crate) struct ThesisLibrary {
    /// The file.
    pub(super) path: PathBuf,
    /// `dlopen`'s.
    pub(super) handle: usize,
    /// By number in the thesis's table: the name of the wrapper.
    pub(super) names: Vec<(usize, CString)>,
    /// The functions that it intercepts, and the address to call.
    pub(crate) functions: Vec<(FnId, usize)>,
    /// How long it took.
    pub(crate) duration: Duration,
}

/// `dlopen` or `dlsym` refused.
fn refused(path: &Path, error: &libloading::Error) -> LayerError {
    match LayerError::of_linker(path, error) {
        LayerError::DynamicLinker { path, message, .. } if message.contains("undefined symbol") => {
            let hint = "compile it with qmpi_thesis.h in place of the prototype's header";
            LayerError::DynamicLinker { path, message, hint }
        }
        error => error,
    }
}

impl ThesisLibrary {
    /// Opens the library, unless it is open, and asks it for a wrapper of each function.
    ///
    /// # Errors
    /// When it does not load, or a wrapper does not exist.
    pub(crate) fn open(path: &Path) -> Result<ThesisLibrary, LayerError> {
        let start = Instant::now();
        // SAFETY: the user asked for the tool; its constructors run as they would if the program were linked with it.
        let library =
            unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| refused(path, &error))?;
        type Interceptions = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the symbol by which such tools are recognized; its type is that of the prototype.
        let interceptions = unsafe { library.get::<Interceptions>(b"get_interceptions\0") };
        let interceptions = *interceptions.map_err(|error| refused(path, &error))?;
        let (mut names, mut functions) = (Vec::new(), Vec::new());
        for index in 0..thesis::COUNT {
            let number = c_int::try_from(index).unwrap_or(c_int::MAX);
            // SAFETY: the number is one of the table, for all of which the tool has an answer.
            let name = unsafe { interceptions(number) };
            // SAFETY: null, or a C string, which stays as it is until the next call.
            let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_owned());
            let name = name.filter(|name| !name.is_empty() && name.as_c_str() != NOT_INTERCEPTED);
            let (Some(name), Some(id)) = (name, thesis::function(index)) else { continue };
            // SAFETY: only the address is used.
            let wrapper = unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes_with_nul()) };
            let address = wrapper.ok().map_or(0, |wrapper| (*wrapper as *const ()).addr());
            if address == 0 {
                let wrapper = name.to_string_lossy().into_owned();
                return Err(LayerError::Wrapper { path: path.into(), index, function: id.name(), wrapper });
            }
            functions.push((id, address));
            names.push((index, name));
        }
        // Its functions are in the chain for as long as the process lives.
        let handle = library.into_raw().expose_provenance();
        Ok(ThesisLibrary { path: path.into(), handle, names, functions, duration: start.elapsed() })
    }
}

/// What `get_interceptions` says of a function that the tool does not intercept.
pub(super) const NOT_INTERCEPTED: &CStr = c"NULL";

/// `vector_get(v, index)` of the prototype.
extern "C" fn vector_get(vector: *const Vector, index: c_int) -> *const DynamicLib {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { Vector::layer(vector, index) }.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// `vector_total(v)` of the prototype.
extern "C" fn vector_total(vector: *const Vector) -> c_int {
    // SAFETY: the caller passes what its wrapper got.
    unsafe { vector.as_ref() }.map_or(0, |vector| vector.total)
}

/// Adds functions of the prototype to the end of the process's scope, where `tool` wants one of them. Their names are so general that
/// `libqmpi.so`, which is preloaded, must not export them: it would take them from programs that use them for something else.
/// `qmpi_thesis.h` has them; these are for a tool that was compiled without it.
///
/// # Errors
/// When they cannot be added to the process.
pub(crate) fn provide_general_names(tool: &Tool) -> Result<(), LoadError> {
    static DONE: AtomicBool = AtomicBool::new(false);
    let names: [(&str, usize); 3] = [
        ("exec_func", dlsym::global(c"QMPI_Exec_func").unwrap_or(0)),
        ("vector_get", (vector_get as *const ()).addr()),
        ("vector_total", (vector_total as *const ()).addr()),
    ];
    let wants = |name: &str| tool.closure.root().imports().any(|symbol| symbol.name == name);
    if !names.iter().any(|(name, _)| wants(name)) || DONE.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    scope_end::add("libqmpi-thesis.so", &names)
}
