//! Which version of the standard introduced a function.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::Result;
use crate::text::{Parsed, each_line};

/// A version of the MPI standard: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StandardVersion(pub u8, pub u8);

impl StandardVersion {
    /// The list of functions is complete up to here; what came later is dated by the headers.
    pub const LISTED: Self = Self(3, 1);

    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self(major.parse().ok()?, minor.parse().ok()?)))
            .ok_or_else(|| format!("`{text}` is not a version of the standard like 3.1"))
    }
}

impl fmt::Display for StandardVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// What defines a function, the standard or an MPI: column `since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DefinedBy {
    /// The standard, since this version.
    Standard(StandardVersion),
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl DefinedBy {
    pub(crate) fn parse(text: &str) -> Parsed<Self> {
        match text {
            "mpich" => Ok(Self::Mpich),
            "openmpi" => Ok(Self::OpenMpi),
            _ => StandardVersion::parse(text).map(Self::Standard),
        }
    }
}

impl fmt::Display for DefinedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(version) => version.fmt(f),
            Self::Mpich => f.write_str("mpich"),
            Self::OpenMpi => f.write_str("openmpi"),
        }
    }
}

/// The list of standard functions, as in `shim-gen/data/standard.txt`.
#[derive(Debug, Clone, Default)]
pub struct Standard {
    /// The origin of each function that the list has.
    pub since: BTreeMap<String, DefinedBy>,
}

impl Standard {
    /// Reads the list: `since V` opens a section, then names separated by blanks; `#` starts a comment.
    /// `since openmpi` is for functions that have the name of a standard one but are an extension.
    ///
    /// # Errors
    /// If a name comes before the first section, or twice.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let mut standard = Self::default();
        let mut since = None;
        each_line(text, file, |line| {
            let words: Vec<_> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            if let ["since", origin] = words[..] {
                since = Some(DefinedBy::parse(origin)?);
                return Ok(());
            }
            for name in words {
                let origin = since.ok_or_else(|| format!("`{name}` stands before the first `since VERSION`"))?;
                if standard.since.insert(name.to_owned(), origin).is_some() {
                    return Err(format!("`{name}` is listed already"));
                }
            }
            Ok(())
        })?;
        Ok(standard)
    }

    /// The list that belongs to this program.
    ///
    /// # Errors
    /// None: the text is part of the program and a test parses it.
    pub fn built_in() -> Result<Self> {
        Self::parse(include_str!("../data/standard.txt"), "shim-gen/data/standard.txt")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_readable() -> Result<()> {
        let standard = Standard::built_in()?;
        assert_eq!(standard.since["MPI_Send"], DefinedBy::Standard(StandardVersion(1, 0)));
        assert_eq!(standard.since["MPI_Mprobe"], DefinedBy::Standard(StandardVersion(3, 0)));
        Ok(())
    }

    #[test]
    fn mistakes_name_their_line() {
        for (text, message) in [
            ("MPI_Send", "x:1: `MPI_Send` stands before the first `since VERSION`"),
            ("# c\nsince 1.0\nMPI_Send MPI_Send", "x:3: `MPI_Send` is listed already"),
            ("since one", "x:1: `one` is not a version of the standard like 3.1"),
        ] {
            assert_eq!(
                Standard::parse(text, "x").map(|_| ()).map_err(|error| error.to_string()),
                Err(message.to_owned())
            );
        }
    }
}
