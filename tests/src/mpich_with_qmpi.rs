//! MPICH configured with `--enable-qmpi`, in `target/qmpi-mpich`, where it is.

use std::path::{Path, PathBuf};

use crate::{Outcome, product, wheel};

/// Are there trials for it? Where all tests are asked for, a missing library fails them.
pub fn is_wanted() -> bool {
    prefix().join("bin/mpicc").exists() || std::env::var_os("QMPI_TEST_FULL").is_some()
}

/// Where it is installed.
pub fn prefix() -> PathBuf {
    product::target().join("qmpi-mpich")
}

/// Its header.
pub fn header() -> PathBuf {
    prefix().join("include/mpi.h")
}

/// Where what is built for it goes.
pub fn directory() -> PathBuf {
    product::target().join("tests/mpich-with-qmpi")
}

/// Builds a program from any source file, and returns its path.
///
/// # Panics
/// When it does not compile, or the library is not there.
pub fn program(source: &Path) -> PathBuf {
    build(source, &[])
}

/// Builds a library from any source file, and returns its path.
///
/// # Panics
/// As above.
pub fn library(source: &Path) -> PathBuf {
    build(source, &["-shared", "-fPIC"])
}

/// The same, linked with another one.
///
/// # Panics
/// As above.
pub fn library_with(source: &Path, other: &Path) -> PathBuf {
    build(source, &["-shared", "-fPIC", "-Wl,--no-as-needed", &other.display().to_string()])
}

fn build(source: &Path, shape: &[&str]) -> PathBuf {
    let compiler = prefix().join("bin/mpicc");
    assert!(compiler.exists(), "{} is missing: run `bash ci/setup --qmpi-mpich`", compiler.display());
    let include = product::root().join("bridge/include").display().to_string();
    let rpath = format!("-Wl,-rpath,{}", prefix().join("lib").display());
    let options = [&["-I", include.as_str(), rpath.as_str()], shape].concat();
    wheel::build(&compiler.display().to_string(), &directory(), source, &options)
}

/// Runs `ranks` processes of a program with these libraries preloaded, and these variables.
///
/// # Panics
/// When it cannot be started.
pub fn run(ranks: usize, program: &Path, preload: &[PathBuf], env: &[(&str, String)]) -> Outcome {
    let list: Vec<String> = preload.iter().map(|path| path.display().to_string()).collect();
    let launcher = prefix().join("bin/mpiexec").display().to_string();
    let mut words = vec![launcher, "-n".into(), ranks.to_string()];
    words.extend(["env".into(), format!("LD_PRELOAD={}", list.join(":")), program.display().to_string()]);
    wheel::run(&words, env)
}
