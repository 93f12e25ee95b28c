//! The configuration of a site, and of a user: what holds for all runs, below what a run says itself.
//!
//! The command looks at the places where such files are; a process of a job reads those that `QMPI_SITE_CONFIG` names, which the command
//! sets where a layer has its section there. So a job of thousands of processes opens no file in vain.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::request::variable;
use crate::{Config, PlanError, lookup};

/// The site's own file.
pub const SYSTEM: &str = "/etc/qmpi/config.toml";

/// A file below `$XDG_CONFIG_HOME`, or `~/.config`.
const OF_USER: &str = "qmpi/config.toml";

/// What `QMPI_SITE_CONFIG` names; `None`: it is not set.
///
/// # Errors
/// The value is no text, as a list has to be; or a file is relative, and there is no current directory.
pub fn named(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Option<Vec<PathBuf>>, PlanError> {
    let Some(value) = get(variable::SITE_CONFIG) else { return Ok(None) };
    let text = value.into_string().map_err(|_| PlanError::not_unicode(variable::SITE_CONFIG))?;
    let files = text.split(':').filter(|file| !file.trim().is_empty());
    files.map(|file| lookup::absolute(Path::new(file))).collect::<Result<Vec<_>, _>>().map(Some)
}

/// The files that hold for a run, the weakest first: those that `QMPI_SITE_CONFIG` names, which may be none; else the site's and
/// the user's, where there are such.
///
/// # Errors
/// As [`named`].
pub fn files(get: &dyn Fn(&str) -> Option<OsString>) -> Result<Vec<PathBuf>, PlanError> {
    if let Some(files) = named(get)? {
        return Ok(files);
    }
    let filled = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let of_user = filled("XDG_CONFIG_HOME").or_else(|| filled("HOME").map(|home| home.join(".config")));
    let places = std::iter::once(PathBuf::from(SYSTEM)).chain(of_user.map(|directory| directory.join(OF_USER)));
    Ok(places.filter(|file| file.exists()).collect())
}

/// What these files say together, later ones over earlier ones.
///
/// # Errors
/// Whatever [`Config::read`] finds.
pub fn read(files: &[PathBuf]) -> Result<Config, PlanError> {
    files.iter().try_fold(Config::default(), |below, file| Ok(Config::read(file)?.over(below)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_files_are() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().join(".config/qmpi");
        std::fs::create_dir_all(&home).unwrap();
        std::fs::write(home.join("config.toml"), "").unwrap();
        let of_site: Vec<PathBuf> = Path::new(SYSTEM).exists().then(|| SYSTEM.into()).into_iter().collect();
        let with = |variables: &[(&str, &str)]| {
            files(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())).unwrap()
        };
        let user = directory.path().to_str().unwrap();
        assert_eq!(with(&[("HOME", user)]), [of_site.clone(), vec![home.join("config.toml")]].concat());
        assert_eq!(with(&[("HOME", user), ("XDG_CONFIG_HOME", "/nowhere")]), of_site);
        assert_eq!(with(&[("HOME", user), ("QMPI_SITE_CONFIG", "")]), Vec::<PathBuf>::new());
        assert_eq!(with(&[("QMPI_SITE_CONFIG", "/a.toml:/b.toml")]), ["/a.toml", "/b.toml"].map(PathBuf::from));
    }

    #[test]
    fn later_files_win() {
        let parse = |text| Config::parse(Path::new("/c/q.toml"), text).unwrap();
        let site = parse(
            "stack = [\"s\"]\ninnermost = [\"darshan\"]\nsearch = [\"tools\"]\nallowed = [\"/opt\"]\nprogram_pmpi = \"past\"\n\
             [stacks]\na = [\"x\"]\n[tool.mpiP]\npath = \"/site/mpiP.so\"\nabout = \"Calls by site\"\n[tool.other]\nranks = \"0\"",
        );
        let own = parse(
            "innermost = []\nsearch = [\"/own\"]\nallowed = [\"/\"]\n[tool.mpiP]\npath = \"/own/mpiP.so\"\n[stacks]\nb = [\"y\"]",
        );
        let both = own.over(site);
        assert_eq!(both.stack, Some(vec!["s".to_owned()]));
        assert_eq!(both.innermost, Some(Vec::new()));
        assert_eq!(both.search, ["/own", "/c/tools"].map(PathBuf::from));
        assert_eq!(both.allowed, Some(vec!["/opt".into()]), "what a site does not allow nobody else does");
        assert_eq!(both.program_pmpi, crate::ProgramPmpi::Past);
        assert_eq!(both.stacks.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(both.tools["mpiP"].path.as_deref(), Some(Path::new("/own/mpiP.so")));
        assert_eq!(both.tools["mpiP"].about, None, "a section is one file's");
        assert!(both.tools["other"].ranks.is_some());
    }
}
