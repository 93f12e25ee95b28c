//! Known third-party tools: facts that inspection cannot see. They are in `manifests.toml`.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Manifest {
    pub(crate) name: String,
    #[serde(default)]
    files: Vec<String>,
    /// What helps.
    #[serde(default)]
    pub(crate) advice: Vec<String>,
    output: Option<KnownOutput>,
}

/// Files that a tool writes, with names that are compiled into it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct KnownOutput {
    /// Constants, or ends of some (linkers share those), all of which are in the file.
    pub(crate) constants: Vec<String>,
    /// What the files are called unless the user says otherwise.
    pub(crate) files: String,
    /// The variable that says otherwise, and what its value is.
    pub(crate) setting: Option<(String, String)>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifests {
    tool: Vec<Manifest>,
}

const TEXT: &str = include_str!("../../manifests.toml");

// A file that does not parse is found by the test below, not by a user.
static MANIFESTS: LazyLock<Vec<Manifest>> =
    LazyLock::new(|| toml::from_str::<Manifests>(TEXT).map_or_else(|_| Vec::new(), |manifests| manifests.tool));

/// The manifest for the tool at `path`, told by its file name.
pub(crate) fn find(path: &Path) -> Option<&'static Manifest> {
    let file = path.file_name()?.to_str()?;
    MANIFESTS.iter().find(|manifest| manifest.files.iter().any(|beginning| file.starts_with(beginning)))
}

/// What is known of tools' outputs.
pub(crate) fn outputs() -> impl Iterator<Item = &'static KnownOutput> {
    MANIFESTS.iter().filter_map(|manifest| manifest.output.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parse() {
        assert!(!toml::from_str::<Manifests>(TEXT).unwrap().tool.is_empty());
    }

    #[test]
    fn found_by_file_name() {
        assert_eq!(find(Path::new("/opt/lib/libmpiP.so.3")).unwrap().name, "mpiP");
        assert_eq!(find(Path::new("/opt/libompitrace.so.40")).unwrap().name, "ompitrace");
        assert!(find(Path::new("/opt/mpiP/libother.so")).is_none());
    }
}
