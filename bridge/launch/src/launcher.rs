//! The launcher in COMMAND, or on PATH: its file, and its kind.
//!
//! Launchers of several kinds are called `mpirun` or `mpiexec`. The kind is told by what the file's links lead to, else by what is
//! in the file; nothing is run for it. A script of that name has no kind, unless it names hydra: what it does with its arguments
//! is its own.

use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::path::{Path, PathBuf};

use qmpi_plan::Launcher;
use qmpi_plan::launcher::Line;

use crate::{executable, wrapper};

/// No launcher is larger, other than in what does not matter here.
const ENOUGH: u64 = 8 << 20;

/// A launcher.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LauncherInCommand {
    /// Which word of COMMAND it is.
    pub index: usize,
    /// Its kind.
    pub launcher: Launcher,
    /// Its file, behind all links.
    pub file: PathBuf,
}

impl LauncherInCommand {
    /// Its arguments in COMMAND.
    pub fn args(&self, command: &[OsString]) -> Vec<String> {
        command.iter().skip(self.index + 1).map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// The launcher that COMMAND starts. `path` is the value of PATH. One that is named among a program's arguments is not started.
pub fn find(command: &[OsString], path: Option<&OsStr>) -> Option<LauncherInCommand> {
    wrapper::commands(command).find_map(|index| {
        let (launcher, file) = identify(&executable::find(&command[index], path)?)?;
        Some(LauncherInCommand { index, launcher, file })
    })
}

/// The values of the launcher's options of these names, written with one hyphen or two: behind a `=`, or the next word.
pub fn option_values<'a>(line: &Line<'a>, names: &[&str]) -> Vec<&'a str> {
    let values = line.options().flat_map(|options| {
        let next = options.iter().skip(1).map(|word| Some(word.as_str())).chain([None]);
        options.iter().zip(next).filter_map(|(word, next)| {
            let (option, value) =
                word.split_once('=').map_or((word.as_str(), next), |(option, value)| (option, Some(value)));
            value.filter(|_| option.starts_with('-') && names.contains(&option.trim_start_matches('-')))
        })
    });
    values.collect()
}

/// The kind of a launcher, and its file behind all links. `None` if it is no launcher of a known kind.
pub fn identify(file: &Path) -> Option<(Launcher, PathBuf)> {
    let file = file.canonicalize().ok().filter(|file| executable::is_executable(file))?;
    let name = file.file_name()?.to_str()?;
    let launcher = Launcher::of_file_name(name).or_else(|| {
        let is_common = matches!(name.split('.').next(), Some("mpirun" | "mpiexec"));
        is_common.then(|| by_contents(&file)).flatten()
    })?;
    Some((launcher, file))
}

fn by_contents(file: &Path) -> Option<Launcher> {
    let mut contents = Vec::new();
    std::fs::File::open(file).ok()?.take(ENOUGH).read_to_end(&mut contents).ok()?;
    let has = |text: &str| contents.windows(text.len()).any(|window| window == text.as_bytes());
    if has("HYDRA build details") || has("mpiexec.hydra") {
        return Some(Launcher::Hydra);
    }
    // Cray machines have it in /opt/cray/pals/RELEASE/bin.
    let is_of_pals = file.parent().into_iter().flat_map(Path::components).any(|part| part.as_os_str() == "pals");
    if is_of_pals || has("PALS_ENVALL") {
        return Some(Launcher::Pals);
    }
    if !contents.starts_with(b"\x7fELF") {
        return None;
    }
    if has("libopen-rte.so") {
        return Some(Launcher::Orte);
    }
    // Open MPI 5 has a small program in this place that starts `prterun`.
    file.with_file_name("prterun").exists().then_some(Launcher::Prrte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn write(directory: &Path, name: &str, contents: &str) -> PathBuf {
        let file = directory.join(name);
        std::fs::write(&file, contents).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        file
    }

    #[test]
    fn kinds() {
        let directory = std::env::temp_dir().join(format!("qmpi-launcher-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let of =
            |name: &str, contents: &str| identify(&write(&directory, name, contents)).map(|(launcher, _)| launcher);
        assert_eq!(of("orterun", ""), Some(Launcher::Orte));
        assert_eq!(of("mpiexec.mpich", "\x7fELF HYDRA build details:"), Some(Launcher::Hydra));
        assert_eq!(of("mpirun", "#!/bin/sh\nexec mpiexec.hydra \"$@\"\n"), Some(Launcher::Hydra));
        assert_eq!(of("mpirun", "#!/bin/sh\nexec orterun \"$@\"\n"), None);
        assert_eq!(of("mpiexec", "\x7fELF libopen-rte.so.40"), Some(Launcher::Orte));
        assert_eq!(of("mpiexec", "\x7fELF"), None);
        assert_eq!(of("mpiexec", "\x7fELF PALS_ENVALL"), Some(Launcher::Pals));
        assert_eq!(of("flux", ""), Some(Launcher::Flux));
        std::fs::create_dir_all(directory.join("pals/1.2/bin")).unwrap();
        assert_eq!(of("pals/1.2/bin/mpiexec", "\x7fELF"), Some(Launcher::Pals));
        assert_eq!(of("grep", "HYDRA build details"), None);
        assert_eq!(of("prterun", ""), Some(Launcher::Prrte));
        assert_eq!(of("mpiexec", "\x7fELF"), Some(Launcher::Prrte));
        std::os::unix::fs::symlink("orterun", directory.join("mpirun.x")).unwrap();
        let command = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let found = |line: &str| find(&command(line), Some(directory.as_os_str())).map(|found| found.index);
        assert_eq!(found("mpirun.x -n 2 ./app"), Some(0));
        assert_eq!(found("timeout 5 mpirun.x -n 2 ./app"), Some(2));
        assert_eq!(found("nice -n 5 timeout 5 mpirun.x -n 2 ./app"), Some(5));
        assert_eq!(found("grep mpirun.x file"), None);
        assert_eq!(found("timeout 5 grep mpirun.x file"), None);
        assert_eq!(found("nice ./app --launcher mpirun.x -n 4"), None);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
