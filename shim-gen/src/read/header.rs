//! All MPI functions that one header declares.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::read::macros::{Expression, Macro};
use crate::read::origin::Version;
use crate::read::prototype::{Prototype, looks_like_one, parse};
use crate::read::source::Source;

/// Where a header comes from: `mpich-4.0.2` that follows MPI 4.0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Vendor and release, for messages; the vendor is the part before the first `-`.
    pub name: String,
    /// Version of the standard that functions are counted under when they first appear here.
    pub version: Version,
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
            let main = path.join("mpi.h");
            if !main.is_file() {
                return Err(Error::NoHeader { path: path.to_owned() });
            }
            header.add(&main)?;
            for name in ["mpi_abi.h", "mpi-ext.h"] {
                let beside = path.join(name);
                if beside.is_file() {
                    header.add(&beside)?;
                }
            }
        } else {
            header.add(path)?;
        }
        if header.functions.is_empty() {
            return Err(Error::NoPrototypes { path: path.to_owned() });
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
    pub fn macros(&self) -> Result<Vec<(&str, Expression)>> {
        // A prototype beside it: the library has the function.
        let only =
            self.macros.iter().filter(|(name, (found, _))| !self.functions.contains_key(*name) && !found.is_variadic());
        only.map(|(name, (found, path))| {
            let unknown = || Error::Macro { path: path.clone(), name: name.clone() };
            Ok((name.as_str(), found.expression().ok_or_else(unknown)?))
        })
        .collect()
    }

    /// Whether the header has a macro of this name that stands for a function.
    pub(crate) fn has_macro(&self, name: &str) -> bool {
        self.macros.get(name).is_some_and(|(found, _)| !found.is_variadic())
    }

    fn add(&mut self, path: &Path) -> Result<()> {
        let (text, macros) = Source::read_with_macros(path)?;
        for found in macros {
            self.macros.entry(found.name.clone()).or_insert((found, path.to_owned()));
        }
        for statement in statements(&text) {
            if !looks_like_one(&statement) {
                continue;
            }
            let unreadable = || Error::Prototype {
                path: path.to_owned(),
                text: statement.split_whitespace().collect::<Vec<_>>().join(" "),
            };
            let prototype = parse(&statement).ok_or_else(unreadable)?;
            self.fold(prototype, path)?;
        }
        Ok(())
    }

    /// Adds a declaration; the first text stays, the plain name's before the profiling name's.
    fn fold(&mut self, mut prototype: Prototype, path: &Path) -> Result<()> {
        let (name, profiling) = match prototype.name.strip_prefix('P') {
            Some(name) => (name.to_owned(), true),
            None => (prototype.name.clone(), false),
        };
        prototype.name.clone_from(&name);
        let Some(known) = self.functions.get_mut(&name) else {
            self.functions.insert(name, Declared { prototype, plain: !profiling, profiling });
            return Ok(());
        };
        if Shape::of(&known.prototype) != Shape::of(&prototype) {
            return Err(Error::Conflict {
                name,
                first: path.display().to_string(),
                first_says: Shape::of(&known.prototype).to_string(),
                second: "another declaration there".to_owned(),
                second_says: Shape::of(&prototype).to_string(),
            });
        }
        if !profiling && !known.plain {
            known.prototype = prototype;
        }
        known.plain |= !profiling;
        known.profiling |= profiling;
        Ok(())
    }
}

/// What every header must agree on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) args: usize,
    pub(crate) variadic: bool,
}

impl Shape {
    pub(crate) fn of(prototype: &Prototype) -> Self {
        Self { args: prototype.params.len(), variadic: prototype.variadic }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.args == 1 { "" } else { "s" };
        let more = if self.variadic { " and more" } else { "" };
        write!(f, "{} argument{plural}{more}", self.args)
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

/// Reads every header of a `LABEL=PATH:VERSION` list.
pub(crate) fn read_all(inputs: &[(Label, PathBuf)]) -> Result<Vec<(Label, Header)>> {
    inputs.iter().map(|(label, path)| Ok((label.clone(), Header::read(path)?))).collect()
}
