//! The syntax of a tool list: what stands in `QMPI_TOOL_LIST` and after `-t`.
//!
//! ```text
//! list    = element { ("," | ":") element }       blanks around an element are ignored
//! element = NAME | PATH | NAME "=" PATH
//! ```
//!
//! Whatever contains a `/` before any `=` is a path. There is no escaping: a path that contains `,` or `:` can only be given
//! in the configuration file or through a symbolic link.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::PlanError;

/// One element of a tool list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Element {
    /// A name that has to be looked up.
    Name(String),
    /// A file; the layer is named after it.
    Path(PathBuf),
    /// A file and the name that its layer is to have.
    Named(String, PathBuf),
}

impl Element {
    /// The name of the layer, and of its section in the configuration file: the file's name where no name is given.
    pub fn name(&self) -> String {
        match self {
            Self::Name(name) | Self::Named(name, _) => name.clone(),
            Self::Path(path) => {
                path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
            }
        }
    }

    /// Reads one element; the blanks around it are already gone.
    ///
    /// # Errors
    /// What is wrong with it, without the place: only the caller knows that.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains('\0') {
            return Err("contains a NUL byte");
        }
        match text.split_once('=') {
            _ if text.is_empty() => Err("is empty"),
            Some((name, _)) if name.contains('/') => Ok(Self::Path(text.into())),
            Some((name, path)) => match (name.trim(), path.trim()) {
                ("", _) => Err("has no name before the `=`"),
                (_, "") => Err("has no path after the `=`"),
                (name, path) => Ok(Self::Named(name.to_owned(), path.into())),
            },
            None if text.contains('/') => Ok(Self::Path(text.into())),
            None => Ok(Self::Name(text.to_owned())),
        }
    }
}

/// Reads a tool list. `source` is what the user calls it: the variable or the option.
///
/// # Errors
/// For the first element that is wrong, with its position, counted from 1.
pub fn parse(source: &str, text: &str) -> Result<Vec<Element>, PlanError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let element = |(index, element): (usize, &str)| {
        let element = element.trim();
        Element::parse(element).map_err(|fault| {
            let (quoted, hint) = match element {
                "" => (String::new(), "separate the tools by one `,` or `:` each"),
                _ => (
                    format!(" (`{}`)", element.replace('\0', "\\0")),
                    "an element is NAME, PATH (with a `/`) or NAME=PATH",
                ),
            };
            PlanError::new(format!("{source}: element {}{quoted} {fault}", index + 1), hint)
        })
    };
    text.split([',', ':']).enumerate().map(element).collect()
}

/// The file that `text` names as a whole, NAME=PATH or PATH, although a list would take it apart.
pub fn unlistable(text: &str) -> Option<PathBuf> {
    let path = match text.split_once('=') {
        Some((name, path)) if !name.contains('/') => path,
        _ => text,
    };
    let is_one_file = path.contains('/') && path.contains([',', ':']) && Path::new(path).is_file();
    is_one_file.then(|| PathBuf::from(path))
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Named(name, path) => write!(f, "{name}={}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Element {
        Element::Name(name.into())
    }

    #[test]
    fn both_separators_and_blanks() {
        let list = parse("QMPI_TOOL_LIST", " foo , bar:foo\t").unwrap();
        assert_eq!(list, [name("foo"), name("bar"), name("foo")]);
    }

    #[test]
    fn three_kinds_of_element() {
        let list = parse("QMPI_TOOL_LIST", "mpiP,./lib=x.so,outer = /opt/libmpiP.so,in=t.so").unwrap();
        assert_eq!(
            list,
            [
                name("mpiP"),
                Element::Path("./lib=x.so".into()),
                Element::Named("outer".into(), "/opt/libmpiP.so".into()),
                Element::Named("in".into(), "t.so".into()),
            ]
        );
        assert_eq!(list.iter().map(Element::name).collect::<Vec<_>>(), ["mpiP", "lib=x.so", "outer", "in"]);
    }

    #[test]
    fn nothing_is_an_empty_stack() {
        assert_eq!(parse("QMPI_TOOL_LIST", "").unwrap(), []);
        assert_eq!(parse("QMPI_TOOL_LIST", " \t").unwrap(), []);
    }

    #[test]
    fn faults_name_variable_and_position() {
        for (text, message) in [
            ("a,,b", "QMPI_TOOL_LIST: element 2 is empty"),
            ("a,", "QMPI_TOOL_LIST: element 2 is empty"),
            (",", "QMPI_TOOL_LIST: element 1 is empty"),
            ("a:=/x.so", "QMPI_TOOL_LIST: element 2 (`=/x.so`) has no name before the `=`"),
            ("name=", "QMPI_TOOL_LIST: element 1 (`name=`) has no path after the `=`"),
            ("a,b\0c", "QMPI_TOOL_LIST: element 2 (`b\\0c`) contains a NUL byte"),
        ] {
            let error = parse("QMPI_TOOL_LIST", text).unwrap_err();
            assert_eq!(error.to_string(), message);
            assert!(!error.hint().is_empty());
        }
    }
}
