//! Programs and tools that are compiled with further options, as another file than the plain one: with a sanitizer, for instance.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::{Mpi, Source, compile, product};

/// Builds one at a time, as `compile` does.
static BUILDING: Mutex<()> = Mutex::new(());

/// Builds a program (or a library, if the name ends in `.so`) of a source file of the repository, with these options besides its own,
/// into the directory of the MPI.
///
/// # Panics
/// When it does not compile.
pub fn build(mpi: Mpi, path: &str, name: &str, options: &[&str]) -> PathBuf {
    build_from(mpi, &product::root().join(path), name, options)
}

/// The same from any file.
///
/// # Panics
/// When it does not compile.
pub fn build_from(mpi: Mpi, path: &Path, name: &str, options: &[&str]) -> PathBuf {
    let _one_at_a_time = BUILDING.lock().unwrap_or_else(PoisonError::into_inner);
    let source = Source::read(path);
    let directory = compile::directory(mpi);
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let output = directory.join(name);
    let modified = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    if modified(&output).is_some_and(|built| modified(path).is_some_and(|written| written < built)) {
        return output;
    }
    let compiler = if source.needs_mpi { mpi.compiler(&source.language) } else { "cc".to_owned() };
    let shape: &[&str] = if name.ends_with(".so") { &["-shared", "-fPIC"] } else { &[] };
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-I"]).arg(product::root().join("bridge/include")).args(shape).args(&source.cflags);
    command.arg(path).arg("-o").arg(&output).arg("-L").arg(&directory).args(options).args(&source.libs);
    let result = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let messages = String::from_utf8_lossy(&result.stderr);
    assert!(result.status.success(), "{}: does not compile:\n{command:?}\n{messages}", path.display());
    output
}
