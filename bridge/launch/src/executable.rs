//! Finding programs as `execvp` does.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The file that `name` runs: itself if it contains a `/`, else the first executable of that name on PATH.
pub fn find(name: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    if name.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(|file| file.is_file());
    }
    if name.is_empty() {
        return None;
    }
    std::env::split_paths(path?).map(|directory| directory.join(name)).find(|file| is_executable(file))
}

/// Whether there is anything that `name` could run; if it is no program, starting it says why.
pub fn exists(name: &OsStr, path: Option<&OsStr>) -> bool {
    find(name, path).is_some() || (name.as_encoded_bytes().contains(&b'/') && Path::new(name).exists())
}

/// A regular file with an execute bit.
pub fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Why a program runs with other rights than its caller's: the dynamic linker ignores `LD_PRELOAD` with a `/` there (ld.so(8),
/// secure-execution mode).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Privilege {
    /// For a message.
    pub description: &'static str,
    /// What the user can do about it.
    pub hint: &'static str,
}

impl Privilege {
    /// That of a file, if it has one.
    pub fn of(file: &Path) -> Option<Privilege> {
        if file.metadata().is_ok_and(|data| data.permissions().mode() & 0o6000 != 0) {
            let hint = "use a copy without these bits (chmod u-s,g-s)";
            return Some(Privilege { description: "is set-user-ID or set-group-ID", hint });
        }
        // capabilities(7)
        let capabilities = rustix::fs::getxattr(file, "security.capability", &mut [0_u8; 64][..]);
        let hint = "use a copy without them (cp drops them; getcap shows them)";
        capabilities.is_ok_and(|size| size > 0).then_some(Privilege { description: "has file capabilities", hint })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_path_and_by_path() {
        let path = Some(OsStr::new("/nonexistent:/bin:/usr/bin"));
        assert!(find(OsStr::new("sh"), path).is_some_and(|file| file.ends_with("sh")));
        assert_eq!(find(OsStr::new("/bin/sh"), None), Some("/bin/sh".into()));
        assert_eq!(find(OsStr::new("no-such-program"), path), None);
        assert_eq!(find(OsStr::new(""), path), None);
        assert_eq!(find(OsStr::new("/bin"), path), None);
        assert!(exists(OsStr::new("/bin"), path) && !exists(OsStr::new("/bin/no-such-program"), path));
    }
}
