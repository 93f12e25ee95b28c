//! All MPI functions that one header declares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use crate::error::{Result, ShimError};
use crate::read::macros::Macro;
use crate::read::prototype::{Prototype, arity, parse};
use crate::read::source::Source;
use crate::standard::StandardVersion;
use crate::text::pattern;

/// Where a header comes from: `mpich-4.0.2` that follows MPI 4.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Vendor and release, for messages; the vendor is the part before the first `-`.
    pub name: String,
    /// Version of the standard that functions are counted under when they first appear here.
    pub version: StandardVersion,
}

impl Label {
    /// `mpich` of `mpich-4.0.2`.
    pub fn vendor(&self) -> &str {
        self.name.split('-').next().unwrap_or_default()
    }
}

/// A function of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// Its prototype under the name without `P`.
    pub prototype: Prototype,
    /// Whether the header declares the `MPI_` name.
    pub plain: bool,
    /// Whether the header declares the `PMPI_` name.
    pub profiling: bool,
}

/// The MPI functions that a header declares, by name, both names of a function in one entry.
#[derive(Debug, Clone, Default)]
pub struct Header {
    functions: BTreeMap<String, Declared>,
    /// Macros with the names of functions, and the file that has them.
    macros: BTreeMap<String, (Macro, PathBuf)>,
}

impl Header {
    /// Reads a header, or an include directory: `mpi.h`, and `mpi_abi.h` and `mpi-ext.h` where they exist.
    ///
    /// # Errors
    /// If a file cannot be read, declares no MPI function, or declares one twice with different numbers of arguments.
    pub fn read(path: &Path) -> Result<Self> {
        let mut header = Self::default();
        if path.is_dir() {
            if !path.join("mpi.h").is_file() {
                return Err(ShimError::NoHeader(path.to_owned()));
            }
            let files = ["mpi.h", "mpi_abi.h", "mpi-ext.h"].map(|name| path.join(name));
            files.iter().filter(|file| file.is_file()).try_for_each(|file| header.add(file))?;
        } else {
            header.add(path)?;
        }
        if header.functions.is_empty() {
            return Err(ShimError::NoPrototypes(path.to_owned()));
        }
        Ok(header)
    }

    /// Functions in the order of their names.
    pub fn functions(&self) -> impl Iterator<Item = &Declared> {
        self.functions.values()
    }

    /// Their prototypes.
    pub fn prototypes(&self) -> impl Iterator<Item = &Prototype> {
        self.functions().map(|declared| &declared.prototype)
    }

    /// The prototype of a function by its name without `P`.
    pub fn function(&self, name: &str) -> Option<&Prototype> {
        self.functions.get(name).map(|declared| &declared.prototype)
    }

    /// The functions that this header has as macros only, in the order of their names, and what these stand for: variants of
    /// `qmpi_abi::Expression`.
    ///
    /// # Errors
    /// If one stands for something unknown.
    pub(crate) fn macros(&self) -> Result<Vec<(&str, &'static str)>> {
        // A prototype beside it: the library has the function.
        let only = self.macros.iter().filter(|(name, _)| !self.functions.contains_key(*name));
        only.map(|(name, (found, path))| {
            let unknown = || ShimError::Macro(path.clone(), name.clone());
            Ok((name.as_str(), found.expression().ok_or_else(unknown)?))
        })
        .collect()
    }

    /// Whether the header has the function, be it as a macro.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.functions.contains_key(name) || self.macros.contains_key(name)
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let source = Source::read(path)?;
        for found in source.functions {
            self.macros.entry(found.name.clone()).or_insert((found, path.to_owned()));
        }
        for statement in statements(&source.text) {
            let prototype = parse(&statement).map_err(|text| ShimError::Prototype(path.to_owned(), text))?;
            prototype.map_or(Ok(()), |prototype| self.fold(prototype, path))?;
        }
        Ok(())
    }

    /// Adds a declaration; the first text stays, the plain name's before the profiling name's.
    fn fold(&mut self, mut prototype: Prototype, path: &Path) -> Result<()> {
        let profiling = prototype.name.starts_with('P');
        prototype.name.drain(..usize::from(profiling));
        let new = || Declared { prototype: prototype.clone(), plain: false, profiling: false };
        let known = self.functions.entry(prototype.name.clone()).or_insert_with(new);
        let says = [&known.prototype, &prototype].map(|found| arity(found.params.len(), found.variadic));
        if says[0] != says[1] {
            let headers = [path.display().to_string(), "another declaration there".to_owned()];
            return Err(ShimError::Conflict(prototype.name, says, headers));
        }
        if !profiling && !known.plain {
            known.prototype = prototype;
        }
        known.plain |= !profiling;
        known.profiling |= profiling;
        Ok(())
    }
}

static LINKAGE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"extern\s+"C"\s*\{"#));

/// The statements outside braces, except that `extern "C" {` counts as nothing.
fn statements(text: &str) -> Vec<String> {
    let (mut found, mut statement) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted) = (0_usize, false);
    for c in LINKAGE.replace_all(text, " ").chars() {
        is_quoted = c != '\n' && is_quoted != (c == '"');
        match c {
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => {
                // None is open where the one of a linkage ends.
                depth = depth.saturating_sub(1);
                // The end of a function body ends its statement; a struct goes on to its semicolon.
                if depth == 0 && statement.trim_end().ends_with(')') {
                    found.push(std::mem::take(&mut statement));
                }
            }
            _ if depth > 0 => {}
            ';' if !is_quoted => found.push(std::mem::take(&mut statement)),
            _ => statement.push(c),
        }
    }
    found
}
