//! The MPI libraries that the tests run on.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::session;

/// An installed MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mpi {
    /// Debian's Open MPI 4.1.
    OpenMpi,
    /// Debian's MPICH 4.0.
    Mpich,
}

/// What a missing MPI means: tests that cannot run must not look like tests that passed.
const INSTALL: &str = "run `bash ci/setup` to install it";

impl Mpi {
    /// All of them.
    pub const ALL: [Mpi; 2] = [Mpi::OpenMpi, Mpi::Mpich];

    /// Its name in directives and in the names of tests.
    pub fn name(self) -> &'static str {
        match self {
            Mpi::OpenMpi => "openmpi",
            Mpi::Mpich => "mpich",
        }
    }

    /// What its compiler and launcher are called by behind the dot. In place of Debian's MPICH a test run can take another build that is
    /// known to the machine in the same way: `QMPI_TEST_MPICH=mpich_qmpi` that of `ci/setup --qmpi-mpich`.
    pub fn suffix(self) -> String {
        match self {
            Mpi::OpenMpi => self.name().into(),
            Mpi::Mpich => std::env::var("QMPI_TEST_MPICH").unwrap_or_else(|_| self.name().into()),
        }
    }

    /// The compiler wrapper for a language of the directives.
    ///
    /// # Panics
    /// For a language that the directives do not know.
    pub fn compiler(self, language: &str) -> String {
        let wrapper = match language {
            "c" => "mpicc",
            "c++" => "mpicxx",
            "fortran" => "mpifort",
            other => panic!("unknown language {other}"),
        };
        format!("{wrapper}.{}", self.suffix())
    }

    /// The launcher with the options that a small, shared machine needs.
    pub fn launcher(self, ranks: usize) -> Vec<String> {
        let mut words = vec![format!("mpiexec.{}", self.suffix())];
        if self == Mpi::OpenMpi {
            words.push("--oversubscribe".into());
        }
        words.extend(["-n".into(), ranks.to_string()]);
        words
    }

    /// Variables without which it does not start here.
    pub fn variables(self) -> Vec<(&'static str, String)> {
        match self {
            Mpi::OpenMpi => [
                // Tests run as root in containers.
                ("OMPI_ALLOW_RUN_AS_ROOT", "1".into()),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".into()),
                // More ranks than cores: give the core away instead of polling.
                ("OMPI_MCA_mpi_yield_when_idle", "1".into()),
                ("OMPI_MCA_btl_vader_single_copy_mechanism", "none".into()),
            ]
            .into_iter()
            .chain(session::variables())
            .collect(),
            Mpi::Mpich => Vec::new(),
        }
    }

    /// The version of the standard that its header follows.
    ///
    /// # Panics
    /// When its compiler does not say.
    pub fn standard(self) -> u32 {
        self.defined("MPI_VERSION").unwrap_or_else(|| panic!("{}: no MPI_VERSION", self.suffix()))
    }

    /// The number that its header defines a macro to be (`OMPI_MAJOR_VERSION`), if it does.
    ///
    /// # Panics
    /// When its compiler does not work.
    pub fn defined(self, name: &str) -> Option<u32> {
        let text = self.preprocessed(&format!("#include <mpi.h>\n{name}\n"), &["-P"]);
        text.lines().last().and_then(|line| line.trim().parse().ok())
    }

    /// Its `mpi.h`.
    ///
    /// # Panics
    /// When its compiler does not find one.
    pub fn header(self) -> PathBuf {
        let text = self.preprocessed("#include <mpi.h>\n", &[]);
        // `# 1 "/usr/include/mpi.h" 1`: where a file begins.
        let names = text.lines().filter(|line| line.starts_with("# ")).filter_map(|line| line.split('"').nth(1));
        let mut paths = names.map(PathBuf::from);
        let header = paths.find(|path| path.file_name().is_some_and(|name| name == "mpi.h"));
        header.unwrap_or_else(|| panic!("{}: no mpi.h", self.suffix()))
    }

    /// What its compiler makes of C source before it is compiled.
    fn preprocessed(self, source: &str, options: &[&str]) -> String {
        let mut command = Command::new(self.compiler("c"));
        command.args(["-E", "-x", "c", "-"]).args(options).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut compiler = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let written = compiler.stdin.take().map(|mut input| input.write_all(source.as_bytes()));
        assert!(matches!(written, Some(Ok(()))), "{command:?}: {written:?}");
        let output = compiler.wait_with_output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        assert!(output.status.success(), "{command:?}: {}", output.status);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Is it there?
    pub fn is_installed(self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|directory| directory.join(self.compiler("c")).is_file())
    }

    /// Ends the test unless it is installed.
    ///
    /// # Panics
    /// When it is not.
    pub fn require(self) {
        assert!(self.is_installed(), "{} is not installed: {INSTALL}", self.suffix());
    }
}
