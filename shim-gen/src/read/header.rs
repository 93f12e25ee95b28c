//! All MPI functions that one header declares.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::error::{Result, ShimError};
use crate::read::macros::{Macro, MacroExpression};
use crate::read::prototype::{Prototype, arity, collapse, looks_like_one, parse};
use crate::read::source::Source;
use crate::standard::StandardVersion;

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
    #[must_use]
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

    /// The prototype of a function by its name without `P`.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Prototype> {
        self.functions.get(name).map(|declared| &declared.prototype)
    }

    /// The functions that this header has as macros only, and what these stand for, in the order of their names.
    ///
    /// # Errors
    /// If one stands for something unknown.
    pub fn macros(&self) -> Result<Vec<(&str, MacroExpression)>> {
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
        for statement in statements(&source.text).iter().filter(|statement| looks_like_one(statement)) {
            let unreadable = || ShimError::Prototype(path.to_owned(), collapse(statement));
            self.fold(parse(statement).ok_or_else(unreadable)?, path)?;
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
            return Err(ShimError::Conflict { name: prototype.name, says, headers });
        }
        if !profiling && !known.plain {
            known.prototype = prototype;
        }
        known.plain |= !profiling;
        known.profiling |= profiling;
        Ok(())
    }
}

/// The statements outside braces, except that `extern "C" {` counts as nothing.
fn statements(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut statement = String::new();
    // For each open brace, whether its content is skipped.
    let mut braces: Vec<bool> = Vec::new();
    let mut quoted = false;
    for c in text.chars() {
        let skipping = braces.contains(&true);
        match c {
            '"' => quoted = !quoted,
            '\n' => quoted = false,
            _ => {}
        }
        match c {
            '{' if !quoted => {
                let linkage = statement.trim_end().ends_with("\"C\"");
                if linkage && !skipping {
                    statement.clear();
                }
                braces.push(skipping || !linkage);
            }
            '}' if !quoted => {
                braces.pop();
                // The end of a function body ends its statement; a struct goes on to its semicolon.
                if !braces.contains(&true) && statement.trim_end().ends_with(')') {
                    found.push(std::mem::take(&mut statement));
                }
            }
            _ if skipping => {}
            ';' if !quoted => found.push(std::mem::take(&mut statement)),
            _ => statement.push(c),
        }
    }
    found
}
