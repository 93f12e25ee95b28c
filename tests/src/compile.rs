//! Source files become programs and tools, once per MPI, below `target/tests`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::artifact::Artifact;
use crate::{Mpi, Source, product};

/// Builds a program of `tests/programs`, by file name, and returns its path.
///
/// # Panics
/// When it does not compile.
pub fn program(mpi: Mpi, file: &str) -> PathBuf {
    let source = Source::read(&product::root().join("tests/programs").join(file));
    build(mpi, &source, Shape::Program)
}

/// Builds a program of `tests/programs`, by file name, that is linked with a tool of `legacy-tools` before the MPI library.
///
/// # Panics
/// When it does not compile.
pub fn program_with_tool(mpi: Mpi, file: &str, name: &str) -> PathBuf {
    program_with(mpi, file, &tool(mpi, name))
}

/// Builds a program of `tests/programs`, by file name, that is linked with a library before the MPI library. What the library
/// lacks is left to run time.
///
/// # Panics
/// When it does not compile.
pub fn program_with(mpi: Mpi, file: &str, library: &Path) -> PathBuf {
    executable_with(mpi, &product::root().join("tests/programs").join(file), library)
}

/// The same with any source file.
///
/// # Panics
/// When it does not compile.
pub fn executable_with(mpi: Mpi, source: &Path, library: &Path) -> PathBuf {
    let mut source = Source::read(source);
    let name = library.file_stem().unwrap_or_default().to_string_lossy();
    source.name = format!("{}_with_{name}", source.name);
    let options = ["-Wl,-rpath,$ORIGIN", "-Wl,--no-as-needed", "-Wl,--allow-shlib-undefined"];
    source.cflags.extend(options.map(str::to_owned));
    source.libs.push(library.display().to_string());
    build(mpi, &source, Shape::Program)
}

/// Builds a tool of `legacy-tools`, by name, and returns its path.
///
/// # Panics
/// When it does not compile.
pub fn tool(mpi: Mpi, name: &str) -> PathBuf {
    let directory = product::root().join("legacy-tools");
    let path = ["c", "cc", "f90"].map(|ending| directory.join(format!("{name}.{ending}")));
    let path = path.iter().find(|path| path.exists()).unwrap_or_else(|| panic!("no tool {name}"));
    build(mpi, &Source::read(path), Shape::Library)
}

/// The same with more options for the compiler, as `NAME_VARIANT.so`.
///
/// # Panics
/// When it does not compile.
pub fn tool_variant(mpi: Mpi, name: &str, variant: &str, options: &[&str]) -> PathBuf {
    let mut source = Source::read(&product::root().join("legacy-tools").join(format!("{name}.c")));
    source.name = format!("{name}_{variant}");
    source.cflags.extend(options.iter().map(|option| (*option).to_owned()));
    build(mpi, &source, Shape::Library)
}

/// Builds a library of `tests/programs`, by file name, and returns its path: a tool that only one test wants.
///
/// # Panics
/// When it does not compile.
pub fn companion(mpi: Mpi, file: &str) -> PathBuf {
    library(mpi, &product::root().join("tests/programs").join(file))
}

/// The same with more options for the compiler, as `NAME_VARIANT.so`, and with the headers of QMPI.
///
/// # Panics
/// When it does not compile.
pub fn companion_variant(mpi: Mpi, file: &str, variant: &str, options: &[&str]) -> PathBuf {
    let mut source = Source::read(&product::root().join("tests/programs").join(file));
    source.name = format!("{}_{variant}", source.name);
    source.kind = "qmpi".into();
    source.cflags.extend(options.iter().map(|option| (*option).to_owned()));
    build(mpi, &source, Shape::Library)
}

/// Builds a library from any source file, and returns its path.
///
/// # Panics
/// When it does not compile.
pub fn library(mpi: Mpi, source: &Path) -> PathBuf {
    build(mpi, &Source::read(source), Shape::Library)
}

/// Builds a program from any source file, and returns its path.
///
/// # Panics
/// When it does not compile.
pub fn executable(mpi: Mpi, source: &Path) -> PathBuf {
    build(mpi, &Source::read(source), Shape::Program)
}

/// Where what is built for an MPI goes.
pub fn directory(mpi: Mpi) -> PathBuf {
    product::target().join("tests").join(mpi.suffix())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Program,
    /// `NAME.so`: a tool, or a library that goes with one.
    Library,
}

fn build(mpi: Mpi, source: &Source, shape: Shape) -> PathBuf {
    for file in source.companions.iter().chain(&source.links) {
        build(mpi, &Source::read(&source.path.with_file_name(file)), Shape::Library);
    }
    let directory = directory(mpi);
    let artifact = Artifact::new(
        &directory,
        match shape {
            Shape::Program => source.name.clone(),
            Shape::Library => format!("{}.so", source.name),
        },
    );
    let mut command = if source.needs_mpi {
        Command::new(mpi.compiler(&source.language))
    } else {
        Command::new(if source.language == "c++" { "c++" } else { "cc" })
    };
    if !source.needs_mpi {
        // The header without the library.
        command.args(include_directories(mpi));
    }
    if source.kind != "pmpi" {
        // qmpi.h, qmpix.h, qmpi_thesis.h.
        command.arg("-I").arg(product::root().join("bridge/include"));
    }
    command.args(["-O2", "-g"]);
    if shape == Shape::Library {
        command.args(["-shared", "-fPIC"]);
    }
    if source.language == "fortran" {
        // Modules: several programs have one of the same name.
        command.arg("-J").arg(artifact.scratch());
    }
    command.args(&source.cflags).arg(&source.path).args(&source.with);
    command.arg("-L").arg(&directory);
    for file in &source.links {
        command.arg(format!("-l:{}", Path::new(file).with_extension("so").display()));
    }
    command.args(&source.libs);
    // Before glibc 2.34 `dladdr` and threads are in libraries of their own; today's are empty.
    command.args(["-Wl,--push-state,--as-needed", "-ldl", "-lpthread", "-Wl,--pop-state"]);
    let sources: Vec<PathBuf> = source.with.iter().chain([&source.path]).cloned().collect();
    artifact.build(command, &sources)
}

fn include_directories(mpi: Mpi) -> &'static [String] {
    static DIRECTORIES: [OnceLock<Vec<String>>; 2] = [const { OnceLock::new() }; 2];
    let option = if mpi == Mpi::OpenMpi { "--showme:compile" } else { "-compile_info" };
    DIRECTORIES[mpi as usize].get_or_init(|| {
        let output = Command::new(mpi.compiler("c")).arg(option).output();
        let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        text.split_whitespace().filter(|word| word.starts_with("-I")).map(str::to_owned).collect()
    })
}
