//! Builds small libraries with the C compiler, in a directory that goes away with the test.

use std::path::{Path, PathBuf};
use std::process::Command;

#[allow(dead_code, reason = "not every test program has fallible tests")]
pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Compiles `source` to a file of this name with these options.
#[allow(dead_code, reason = "not every test program builds libraries")]
pub(crate) fn build(
    directory: &Path,
    name: &str,
    source: &str,
    options: &[&str],
) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let output = directory.join(name);
    let source_file = directory.join(format!("{name}.c"));
    std::fs::write(&source_file, source)?;
    let result = Command::new("cc").arg("-o").arg(&output).arg(&source_file).args(options).output()?;
    if result.status.success() {
        Ok(output)
    } else {
        Err(format!("cc {name}: {}", String::from_utf8_lossy(&result.stderr)).into())
    }
}

/// A shared library with its file name as SONAME.
#[allow(dead_code, reason = "not every test program builds libraries only")]
pub(crate) fn library(
    directory: &Path,
    name: &str,
    source: &str,
    options: &[&str],
) -> Result<PathBuf, Box<dyn std::error::Error>> {
    let soname = format!("-Wl,-soname,{name}");
    let mut all = vec!["-shared", "-fPIC", &soname];
    all.extend(options);
    build(directory, name, source, &all)
}

/// A name with its version, and whether that is the default one.
pub(crate) type VersionedName = (String, Option<(String, bool)>);

/// The versions that a file defines, by number, and those of its definitions: name, version, default.
#[allow(dead_code, reason = "not every test program looks at versions")]
pub(crate) fn versions(file: &qmpi_elf::ElfFile) -> (Vec<String>, Vec<VersionedName>) {
    let tables = file.tables();
    let text = |name: Option<&std::ffi::CStr>| name.unwrap_or_default().to_string_lossy().into_owned();
    let defined = tables.version_definitions().filter(|version| !version.is_base);
    let of_symbol = |index: usize| {
        let index = tables.version_index(index)?;
        Some((text(Some(tables.defined_version(index)?)), !index.is_hidden()))
    };
    let symbols = file.exports().map(|symbol| (symbol.name.to_owned(), of_symbol(symbol.index())));
    (defined.map(|version| text(version.name())).collect(), symbols.collect())
}
