//! Why a layer cannot be set up.

use std::path::{Path, PathBuf};

use qmpi_loader::LoadError;
use qmpi_plan::PlanError;
use thiserror::Error;

/// A layer cannot be set up: one line that names the file, and what is wrong with it.
#[derive(Debug, Error)]
pub(crate) enum LayerError {
    #[error(transparent)]
    Loader(#[from] LoadError),
    /// The plan has no file for it.
    #[error(transparent)]
    NoFile(#[from] PlanError),
    #[error("{}: {message}", path.display())]
    DynamicLinker { path: PathBuf, message: String, hint: &'static str },
    #[error("{}: it is a QMPI tool, but it registered no name", path.display())]
    NoName { path: PathBuf },
    #[error("{}: the name {name} is registered by another library", path.display())]
    NameTaken { path: PathBuf, name: String },
    /// The library registers several names, none of which was asked for.
    #[error("{}: it registers {names}, and not {name}", path.display())]
    OtherNames { path: PathBuf, name: String, names: String },
    /// The object with its init callback is compiled with the header of a release that is not known here.
    #[error("{}: its number {number} stands for a function of {header}, whose numbers are not known", path.display())]
    UnknownNumbers { path: PathBuf, number: i32, header: String },
    #[error(
        "{}: its number {number} stands for a function of the mpi.h that it is compiled with, and nothing in the file says \
         which that is",
        path.display()
    )]
    Numbers { path: PathBuf, number: i32 },
    #[error("{}: its parts are compiled with different numbers of functions: {headers}", path.display())]
    Numberings { path: PathBuf, headers: String },
    /// Of the 2018 prototype; `index` is the function's number in the thesis's table.
    #[error("{}: get_interceptions({index}) says that {wrapper} wraps {function}, but there is no such symbol", path.display())]
    Wrapper { path: PathBuf, index: usize, function: &'static str, wrapper: String },
}

impl LayerError {
    /// `dlopen` or `dlsym` refused.
    pub(crate) fn of_linker(path: &Path, error: &libloading::Error) -> LayerError {
        let message = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
        let hint = "see whether it loads with LD_PRELOAD, and what LD_DEBUG=all says";
        LayerError::DynamicLinker { path: path.into(), message, hint }
    }

    /// What the user can do about it.
    pub(crate) fn hint(&self) -> Option<String> {
        Some(match self {
            LayerError::Loader(error) => return error.hint(),
            LayerError::NoFile(error) => error.hint().into(),
            LayerError::DynamicLinker { hint, .. } => (*hint).into(),
            LayerError::NoName { .. } => {
                "it must call QMPI_Register_tool_name from a constructor, with a name of its own".into()
            }
            LayerError::NameTaken { .. } => {
                "names of QMPI tools are unique: use one of the two libraries, as often as you like".into()
            }
            LayerError::OtherNames { path, .. } => format!("write NAME={}", path.display()),
            LayerError::UnknownNumbers { .. } => {
                "compile the tool with another release of MPICH, or let it use functions by name (QMPIX_*_by_name)"
                    .into()
            }
            LayerError::Numbers { .. } => "include qmpi.h in the tool, and compile it again".into(),
            LayerError::Numberings { .. } => "compile all of the tool with one mpi.h".into(),
            LayerError::Wrapper { .. } => "the wrapper must be visible, and in C++ extern \"C\"".into(),
        })
    }
}
