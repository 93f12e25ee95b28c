//! COMMAND as it is run in another directory, with something in front of each program that the launcher starts.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use qmpi_plan::launcher::Line;

use crate::{executable, launcher};

/// COMMAND, and where its programs are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    words: Vec<OsString>,
    /// The places of the programs, in order. Empty where COMMAND is the program, or starts programs in a way of its own.
    programs: Vec<usize>,
}

impl CommandLine {
    /// Takes COMMAND apart. `here`: the directory that its relative paths mean. Runs have directories with the same files below another one,
    /// so only what leads out of them has to be changed.
    pub fn of(words: &[OsString], here: &Path, get: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let path = get("PATH");
        let words: Vec<OsString> = words.iter().map(|word| outside(word, here)).collect();
        let Some(found) = launcher::find(&words, path.as_deref()) else {
            return Self { words, programs: Vec::new() };
        };
        let args = found.args(&words);
        let line = Line { launcher: found.launcher, args: &args, get };
        let place =
            |(start, own): (usize, Line<'_>)| found.index + 1 + start + own.options().map(<[_]>::len).sum::<usize>();
        let mut programs: Vec<usize> = line.programs().map(place).collect();
        // An option that is not known here, or a file that names the programs.
        let is_one = |place: &usize| words.get(*place).is_some_and(|word| executable::exists(word, path.as_deref()));
        if !programs.iter().all(is_one) {
            programs.clear();
        }
        Self { words, programs }
    }

    /// Does each rank's output go to files of its own?
    pub fn separates_ranks(&self) -> bool {
        !self.programs.is_empty()
    }

    /// With these words in front of each program, or of all of it.
    pub fn with(&self, front: &[OsString]) -> Vec<OsString> {
        if self.programs.is_empty() {
            return [front, &self.words].concat();
        }
        let mut words = self.words.clone();
        for place in self.programs.iter().rev() {
            words.splice(place..place, front.iter().cloned());
        }
        words
    }
}

/// `../x` and `--option=../x` as absolute paths, if there is such a file.
fn outside(word: &OsStr, here: &Path) -> OsString {
    let Some(text) = word.to_str() else { return word.to_owned() };
    let (option, path) = match text.split_once('=') {
        Some((option, path)) if option.starts_with('-') => (Some(option), path),
        _ => (None, text),
    };
    let leads_out = path == ".." || path.starts_with("../");
    let whole = here.join(path);
    if !leads_out || !whole.exists() {
        return word.to_owned();
    }
    let whole = whole.canonicalize().unwrap_or(whole);
    match option {
        Some(option) => format!("{option}={}", whole.display()).into(),
        None => whole.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn in_front_of_each_program() {
        let place = tempfile::tempdir().unwrap();
        for name in ["orterun", "app"] {
            let file = place.path().join(name);
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let path = place.path().as_os_str().to_owned();
        let with = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let command = CommandLine::of(&words, place.path(), &|name| (name == "PATH").then(|| path.clone()));
            let words = command.with(&["X".into(), "--".into()]);
            let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            (words.join(" "), command.separates_ranks())
        };
        assert_eq!(with("orterun -n 2 app -n 3"), ("orterun -n 2 X -- app -n 3".to_owned(), true));
        assert_eq!(with("orterun -n 2 app : -n 1 app y"), ("orterun -n 2 X -- app : -n 1 X -- app y".to_owned(), true));
        assert_eq!(with("orterun --app file"), ("X -- orterun --app file".to_owned(), false));
        assert_eq!(with("sh job.sh"), ("X -- sh job.sh".to_owned(), false));
    }

    #[test]
    fn paths_that_lead_out() {
        let place = tempfile::tempdir().unwrap();
        let here = place.path().canonicalize().unwrap().join("here");
        std::fs::create_dir(&here).unwrap();
        std::fs::write(here.join("../data"), "").unwrap();
        let data = here.with_file_name("data");
        assert_eq!(outside(OsStr::new("../data"), &here), data.as_os_str());
        assert_eq!(outside(OsStr::new("--in=../data"), &here), format!("--in={}", data.display()).as_str());
        for word in ["../nothing", "data", "./data", "a=../data", "..."] {
            assert_eq!(outside(OsStr::new(word), &here), word);
        }
    }
}
