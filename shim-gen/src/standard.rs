//! Which version of the standard introduced and removed a function.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::read::origin::{Origin, Version};

/// The list of standard functions, as in `shim-gen/data/standard.txt`.
#[derive(Debug, Clone, Default)]
pub struct Standard {
    since: BTreeMap<String, Origin>,
    removed: BTreeMap<String, Version>,
}

/// What the names that follow are.
#[derive(Clone, Copy)]
enum Section {
    Since(Origin),
    Removed(Version),
}

impl Standard {
    /// Reads the list: `since V` and `removed V` open a section, then names separated by blanks; `#` starts a comment.
    /// `since openmpi` is for functions that have the name of a standard one but are an extension.
    ///
    /// # Errors
    /// If a name comes before the first section, or twice in the same kind of section.
    pub fn parse(text: &str, file: &str) -> Result<Self> {
        let mut standard = Self::default();
        let mut section = None;
        for (index, line) in text.lines().enumerate() {
            let wrong = |problem: String| Error::Line { file: file.to_owned(), line: index + 1, problem };
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<_> = line.split_whitespace().collect();
            match words[..] {
                ["since", origin] => section = Some(Section::Since(origin.parse().map_err(wrong)?)),
                ["removed", version] => section = Some(Section::Removed(version.parse().map_err(wrong)?)),
                _ => {
                    for name in words {
                        let twice = match section {
                            None => {
                                return Err(wrong(format!("`{name}` stands before the first `since VERSION`")));
                            }
                            Some(Section::Since(origin)) => standard.since.insert(name.to_owned(), origin).is_some(),
                            Some(Section::Removed(version)) => {
                                standard.removed.insert(name.to_owned(), version).is_some()
                            }
                        };
                        if twice {
                            return Err(wrong(format!("`{name}` is listed already")));
                        }
                    }
                }
            }
        }
        Ok(standard)
    }

    /// The list that belongs to this program.
    ///
    /// # Errors
    /// None: the text is part of the program and a test parses it.
    pub fn built_in() -> Result<Self> {
        Self::parse(include_str!("../data/standard.txt"), "shim-gen/data/standard.txt")
    }

    /// The origin of the function, if the list has it.
    #[must_use]
    pub fn since(&self, name: &str) -> Option<Origin> {
        self.since.get(name).copied()
    }

    /// All names with their origins.
    pub fn names(&self) -> impl Iterator<Item = (&str, Origin)> {
        self.since.iter().map(|(name, origin)| (name.as_str(), *origin))
    }

    /// The version that removed the function.
    #[must_use]
    pub fn removed(&self, name: &str) -> Option<Version> {
        self.removed.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_is_readable() -> Result<()> {
        let standard = Standard::built_in()?;
        assert_eq!(standard.since("MPI_Send"), Some(Origin::Standard(Version(1, 0))));
        assert_eq!(standard.since("MPI_Mprobe"), Some(Origin::Standard(Version(3, 0))));
        assert_eq!(standard.removed("MPI_Address"), Some(Version(3, 0)));
        for name in standard.removed.keys() {
            assert!(standard.since.contains_key(name), "{name} was removed but never introduced");
        }
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
