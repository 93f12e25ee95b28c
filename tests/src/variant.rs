//! Programs and tools that are compiled with further options, as another file than the plain one: with a sanitizer, for instance.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifact::Artifact;
use crate::{Mpi, Source, compile, product};

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
    let source = Source::read(path);
    let directory = compile::directory(mpi);
    let artifact = Artifact::new(&directory, name.to_owned());
    let compiler = if source.needs_mpi { mpi.compiler(&source.language) } else { "cc".to_owned() };
    let shape: &[&str] = if name.ends_with(".so") { &["-shared", "-fPIC"] } else { &[] };
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-I"]).arg(product::root().join("bridge/include")).args(shape).args(&source.cflags);
    command.arg(path).arg("-L").arg(&directory).args(options).args(&source.libs);
    artifact.build(command, &[path.to_owned()])
}
