//! Known third-party tools: facts that inspection cannot see. The files are in `manifests/`, their format in its README.

use std::path::Path;
use std::sync::LazyLock;

use serde::Deserialize;

/// What is known about one tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// What people call it.
    pub name: String,
    files: Vec<String>,
    /// Layers below it would not work.
    #[serde(default)]
    pub needs_innermost: bool,
    /// What helps.
    #[serde(default)]
    pub advice: Vec<String>,
    /// What will not work in a private namespace.
    #[serde(default)]
    pub wrong: Vec<String>,
}

const TEXTS: [&str; 6] = [
    include_str!("../../manifests/darshan.toml"),
    include_str!("../../manifests/libompitrace.toml"),
    include_str!("../../manifests/mpiP.toml"),
    include_str!("../../manifests/ompi_monitoring_prof.toml"),
    include_str!("../../manifests/scorep.toml"),
    include_str!("../../manifests/tau.toml"),
];

// A manifest that does not parse is found by the test below, not by a user.
static MANIFESTS: LazyLock<Vec<Manifest>> =
    LazyLock::new(|| TEXTS.iter().filter_map(|text| toml::from_str(text).ok()).collect());

/// The manifest for the tool at `path`, told by its file name.
#[must_use]
pub fn find(path: &Path) -> Option<&'static Manifest> {
    let file = path.file_name()?.to_str()?;
    MANIFESTS.iter().find(|manifest| manifest.files.iter().any(|beginning| file.starts_with(beginning)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parse() {
        for text in TEXTS {
            toml::from_str::<Manifest>(text).unwrap();
        }
    }

    #[test]
    fn found_by_file_name() {
        assert_eq!(find(Path::new("/opt/lib/libmpiP.so.3")).unwrap().name, "mpiP");
        assert_eq!(find(Path::new("/opt/libscorep_adapter_mpi_event.so")).unwrap().name, "Score-P");
        assert!(find(Path::new("/opt/mpiP/libother.so")).is_none());
    }
}
