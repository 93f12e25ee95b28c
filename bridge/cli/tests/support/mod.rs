//! What the process tests share: a directory with tools built by the C compiler, and the command run in it.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A PMPI tool that needs no mpi.h.
pub(crate) const PMPI_TOOL: &str = "
int PMPI_Init(void *, void *);
int PMPI_Send(const void *, int, int, int, int, int);
int PMPI_Comm_rank(int, int *);
int MPI_Init(void *a, void *b) { return PMPI_Init(a, b); }
int MPI_Send(const void *a, int b, int c, int d, int e, int f)
{
    int rank;
    PMPI_Comm_rank(e, &rank);
    return PMPI_Send(a, b, c, d, e, f);
}
";

/// A PMPI tool that uses Open MPI's data.
pub(crate) const OPEN_MPI_TOOL: &str = "
extern char ompi_mpi_comm_world;
int PMPI_Barrier(void *);
int MPI_Barrier(void *c) { return PMPI_Barrier(c ? c : &ompi_mpi_comm_world); }
";

/// A QMPI tool.
pub(crate) const QMPI_TOOL: &str = "
int QMPI_Register_tool_name(const char *, void *);
__attribute__((constructor)) static void begin(void) { QMPI_Register_tool_name(\"native\", 0); }
int something;
";

/// What the command takes for the runtime.
const RUNTIME: &str = "int QMPIX_Stack_open(void) { return 0; }";

/// A directory of its own, with a file that stands for the runtime.
pub(crate) struct Fixture {
    directory: tempfile::TempDir,
}

/// What a command printed, with the directory replaced by `$DIR`.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The exit status.
    pub(crate) status: i32,
    /// All of stdout.
    pub(crate) stdout: String,
    /// All of stderr.
    pub(crate) stderr: String,
}

impl Fixture {
    /// An empty directory with `libqmpi.so`.
    pub(crate) fn new() -> Self {
        let fixture = Self { directory: tempfile::tempdir().unwrap() };
        fixture.library("libqmpi.so", RUNTIME, &[]);
        fixture
    }

    /// With `libtool.so` (PMPI) and `libnative.so` (QMPI) in it.
    pub(crate) fn with_tools() -> Self {
        let fixture = Self::new();
        fixture.library("libtool.so", PMPI_TOOL, &[]);
        fixture.library("libnative.so", QMPI_TOOL, &[]);
        fixture
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    /// Builds a shared object, without libc so that what it needs is the same with every compiler.
    pub(crate) fn library(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let options: Vec<&str> = ["-shared", "-fPIC", "-nostdlib"].iter().chain(options).copied().collect();
        self.compile(name, source, &options)
    }

    /// Builds anything.
    pub(crate) fn compile(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let input = self.write(&format!("{name}.c"), source);
        let mut command = Command::new("cc");
        command.current_dir(self.path()).arg("-o").arg(name).arg(input).args(options);
        let output = command.output().expect("these tests need a C compiler, cc");
        assert!(output.status.success(), "cc {name}: {}", String::from_utf8_lossy(&output.stderr));
        self.path().join(name)
    }

    /// Runs `qmpi` with `args`, in the directory, without any variable of the caller's that it reads.
    pub(crate) fn qmpi<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Answer {
        self.qmpi_with(args, &[])
    }

    /// [`Fixture::qmpi`] with variables.
    pub(crate) fn qmpi_with<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
        variables: &[(&str, &str)],
    ) -> Answer {
        let mut command = Command::new(env!("CARGO_BIN_EXE_qmpi"));
        command.env_clear().current_dir(self.path()).args(args);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("QMPI_RUNTIME", self.path().join("libqmpi.so"));
        command.envs(variables.iter().copied());
        self.answer(&command.output().unwrap())
    }

    fn answer(&self, output: &Output) -> Answer {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(self.path().to_str().unwrap(), "$DIR");
        Answer {
            status: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Answer {
    /// Must have succeeded, silently.
    pub(crate) fn success(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }

    /// Must have failed with `status`, one error line that contains `message`, and one hint line.
    pub(crate) fn failure(&self, status: i32, message: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let lines: Vec<&str> = self.stderr.lines().collect();
        let [error, hint] = lines[..] else { panic!("not one error and one hint: {self:?}") };
        assert!(error.starts_with("qmpi: error: ") && error.contains(message), "no `{message}` in {error}");
        assert!(hint.starts_with("qmpi: hint: ") && hint.len() > "qmpi: hint: ".len(), "{hint}");
    }
}

/// Compares with `golden/NAME`; BLESS=1 writes it instead.
pub(crate) fn golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(text, expected, "golden/{name} differs; if that is meant: BLESS=1 cargo nextest run -p qmpi-cli");
}
