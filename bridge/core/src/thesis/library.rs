//! A library of tools of the 2018 prototype: opened once, in the base namespace, and asked for its wrappers once per layer.
#![expect(unsafe_code, reason = "constructors of the tool run, and its get_interceptions")]

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use libloading::os::unix::{Library as Opened, RTLD_LOCAL, RTLD_NOW};
use qmpi_abi::{FnId, thesis};
use thiserror::Error;

/// A tool of the 2018 prototype could not be brought into the stack.
#[derive(Debug, Error)]
pub(crate) enum LibraryError {
    /// The library does not load.
    #[error("{}: {message}", path.display())]
    Load {
        /// The library.
        path: PathBuf,
        /// What the dynamic linker says.
        message: String,
    },
    /// A wrapper does not exist.
    #[error("{}: get_interceptions({index}) says that {wrapper} wraps {function}, but there is no such symbol", path.display())]
    Wrapper {
        /// The library.
        path: PathBuf,
        /// The function's number in the thesis's table.
        index: usize,
        /// What it should wrap.
        function: &'static str,
        /// Its name.
        wrapper: String,
    },
}

impl LibraryError {
    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            LibraryError::Load { message, .. } if message.contains("undefined symbol") => {
                "compile it with qmpi_thesis.h in place of the prototype's header".into()
            }
            LibraryError::Load { .. } => "see whether it loads with LD_PRELOAD, and what LD_DEBUG=all says".into(),
            LibraryError::Wrapper { .. } => "the wrapper must be visible, and in C++ extern \"C\"".into(),
        })
    }
}

/// What one layer has from its library.
#[derive(Debug)]
pub(crate) struct ThesisLibrary {
    path: PathBuf,
    /// `dlopen`'s.
    handle: usize,
    /// By number in the thesis's table: the name of the wrapper.
    names: Vec<(usize, CString)>,
    /// The functions, and the address to call.
    functions: Vec<(FnId, usize)>,
    duration: Duration,
}

impl ThesisLibrary {
    /// Opens the library, unless it is open, and asks it for a wrapper of each function.
    ///
    /// # Errors
    /// When it does not load, or a wrapper does not exist.
    pub(crate) fn open(path: &Path) -> Result<ThesisLibrary, LibraryError> {
        let start = Instant::now();
        let fail = |error: &libloading::Error| {
            let message = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
            LibraryError::Load { path: path.into(), message }
        };
        // SAFETY: the user asked for the tool; its constructors run as they would if the program were linked with it.
        let library = unsafe { Opened::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| fail(&error))?;
        type Interceptions = unsafe extern "C" fn(c_int) -> *const c_char;
        // SAFETY: the symbol by which such tools are recognized; its type is that of the prototype.
        let interceptions = unsafe { library.get::<Interceptions>(b"get_interceptions\0") };
        let interceptions = *interceptions.map_err(|error| fail(&error))?;
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
                return Err(LibraryError::Wrapper { path: path.into(), index, function: id.name(), wrapper });
            }
            functions.push((id, address));
            names.push((index, name));
        }
        // Its functions are in the chain for as long as the process lives.
        let handle = library.into_raw().expose_provenance();
        Ok(ThesisLibrary { path: path.into(), handle, names, functions, duration: start.elapsed() })
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `dlopen`'s handle.
    pub(crate) fn handle(&self) -> usize {
        self.handle
    }

    /// The functions that it intercepts, and the address to call.
    pub(crate) fn functions(&self) -> &[(FnId, usize)] {
        &self.functions
    }

    /// By number in the thesis's table: the name of the wrapper.
    pub(crate) fn names(&self) -> &[(usize, CString)] {
        &self.names
    }

    /// How long it took.
    pub(crate) fn duration(&self) -> Duration {
        self.duration
    }
}

/// What `get_interceptions` says of a function that the tool does not intercept.
pub(super) const NOT_INTERCEPTED: &CStr = c"NULL";
