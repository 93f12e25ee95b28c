//! The headers of real MPI libraries, if they are on this machine.

use std::io::Write as _;
use std::path::PathBuf;

use shim_gen::{Header, Label, StandardVersion};

/// Vendor and release of a real header, which is also the name of its directory, and the standard it follows.
///
/// Open MPI 5.0 says 3.1 of itself, but what it adds to 4.1 is from MPI 4.0.
const KNOWN: [(&str, StandardVersion); 5] = [
    ("mpich-4.0.2", StandardVersion(4, 0)),
    ("openmpi-4.1.4", StandardVersion(3, 1)),
    ("mpich-4.3.2", StandardVersion(4, 1)),
    ("mpich-5.0.1", StandardVersion(5, 0)),
    ("openmpi-5.0.11", StandardVersion(4, 0)),
];

/// The include directories below `QMPI_TEST_HEADERS`, in the order that the table is made from them.
///
/// `None`, with a visible reason, if the variable is not set; where `CI=true`, that is a failure. `none` says of a machine that it has
/// other releases.
pub(crate) fn directories() -> Option<Vec<(Label, PathBuf)>> {
    let Some(root) = std::env::var_os("QMPI_TEST_HEADERS").map(PathBuf::from) else {
        let reason = "QMPI_TEST_HEADERS is not set: no real headers to read";
        assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "{reason}");
        // Not eprintln!, which the test harness keeps to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
        return None;
    };
    if root.as_os_str() == "none" {
        return None;
    }
    let directories = KNOWN.map(|(name, version)| {
        let path = root.join(name);
        assert!(path.join("mpi.h").is_file(), "{} has no mpi.h", path.display());
        (Label { name: name.to_owned(), version }, path)
    });
    Some(directories.into())
}

/// Reads a header, or an include directory.
#[allow(dead_code, reason = "not every test reads headers itself")]
pub(crate) fn read(path: &std::path::Path) -> Header {
    Header::read(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Include directories with an `mpi.h`: those of the libraries, and one where `mpi_abi.h` takes its place, as it may.
#[allow(dead_code, reason = "not every test compiles")]
pub(crate) fn include_directories() -> Option<Vec<(String, PathBuf)>> {
    let directories = directories()?;
    let abi = directories.iter().map(|(_, path)| path.join("mpi_abi.h")).find(|path| path.is_file());
    let mut found: Vec<_> = directories.into_iter().map(|(label, path)| (label.name, path)).collect();
    if let Some(header) = abi {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mpi_abi");
        std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{error}"));
        // Tests run side by side: the file appears at once and whole.
        let part = directory.join(format!("{}.part", std::process::id()));
        std::fs::copy(&header, &part).unwrap_or_else(|error| panic!("{error}"));
        std::fs::rename(&part, directory.join("mpi.h")).unwrap_or_else(|error| panic!("{error}"));
        found.push(("mpi_abi".to_owned(), directory));
    }
    Some(found)
}

/// Compiles C or C++ text beside an `mpi.h` and our `qmpi.h`, whose warnings count while those of `mpi.h` do not.
#[allow(dead_code, reason = "not every test compiles")]
pub(crate) fn compiles(name: &str, text: &str, language: &[&str], mpi: &std::path::Path) {
    let cxx = language.iter().any(|option| option.contains("c++"));
    let (variable, default, extension) = if cxx { ("CXX", "c++", "cc") } else { ("CC", "cc", "c") };
    let code = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{extension}"));
    std::fs::write(&code, text).unwrap_or_else(|error| panic!("{error}"));
    let compiler = std::env::var_os(variable).unwrap_or_else(|| default.into());
    let result = std::process::Command::new(compiler)
        .args(language)
        .args(["-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I../bridge/include", "-isystem"])
        .arg(mpi)
        .arg(&code)
        .arg("-o")
        .arg(code.with_extension(format!("{extension}.so")))
        .output()
        .unwrap_or_else(|error| panic!("no compiler {default}: {error}"));
    assert!(result.status.success(), "{name}: {}", String::from_utf8_lossy(&result.stderr));
}
