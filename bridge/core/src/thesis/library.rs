//! A library of tools of the 2018 prototype: opened once, in the base namespace, and asked for its wrappers once per layer.
#![expect(unsafe_code, reason = "constructors of the tool run, and its get_interceptions")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};
use qmpi_abi::{FnId, thesis};

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
