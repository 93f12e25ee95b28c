//! Programs that run the rest of their command line: `env`, `nice`, `timeout` and the like. Where that rest begins.
//!
//! By the manual pages of coreutils, util-linux, numactl and strace. Options that are not known here have no value in a word of their own.

use std::ffi::OsString;
use std::path::Path;

/// The options of a command that have a value, which may stand in the next word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OptionsWithValue {
    /// Letters of short options.
    pub(crate) letters: &'static str,
    /// Long options, with blanks between them.
    pub(crate) long: &'static str,
}

/// What stands between the options and the command.
#[derive(Clone, Copy)]
enum BeforeCommand {
    Nothing,
    /// A duration, a mask, a priority.
    Word,
    /// Any number of `NAME=VALUE`.
    Assignments,
    /// The name of an architecture, or nothing.
    Architecture,
}

/// A wrapper: its name, its options, and what stands before the command that it runs.
type Wrapper = (&'static str, OptionsWithValue, BeforeCommand);

const fn wrapper(name: &'static str, letters: &'static str, long: &'static str, before: BeforeCommand) -> Wrapper {
    (name, OptionsWithValue { letters, long }, before)
}

const WRAPPERS: [Wrapper; 16] = [
    wrapper("catchsegv", "", "", BeforeCommand::Nothing),
    wrapper("chrt", "DPT", "sched-deadline sched-period sched-runtime", BeforeCommand::Word),
    wrapper("env", "CSu", "chdir split-string unset", BeforeCommand::Assignments),
    wrapper("ionice", "cn", "class classdata", BeforeCommand::Nothing),
    wrapper("ltrace", "DFaeloipsuwx", "", BeforeCommand::Nothing),
    wrapper("nice", "n", "adjustment", BeforeCommand::Nothing),
    wrapper("nohup", "", "", BeforeCommand::Nothing),
    wrapper(
        "numactl",
        "CNPmp",
        "cpunodebind interleave membind physcpubind preferred preferred-many weighted-interleave",
        BeforeCommand::Nothing,
    ),
    wrapper("setarch", "", "", BeforeCommand::Architecture),
    wrapper("setsid", "", "", BeforeCommand::Nothing),
    wrapper("stdbuf", "eio", "error input output", BeforeCommand::Nothing),
    wrapper("strace", "EIOPSUXabeopsu", "interruptible output trace user", BeforeCommand::Nothing),
    wrapper("taskset", "", "", BeforeCommand::Word),
    wrapper("time", "fo", "format output", BeforeCommand::Nothing),
    wrapper("timeout", "ks", "kill-after signal", BeforeCommand::Word),
    wrapper("valgrind", "", "", BeforeCommand::Nothing),
];

/// The places of the commands that `command` consists of: itself, what it runs if it is a wrapper, and so on.
pub(crate) fn commands(command: &[OsString]) -> impl Iterator<Item = usize> {
    let first = (!command.is_empty()).then_some(0);
    std::iter::successors(first, |index| Some(index + inner(&command[*index..])?))
}

/// The place of the command that the first word of `command` runs; `None` if that is no wrapper, or runs nothing.
fn inner(command: &[OsString]) -> Option<usize> {
    let name = Path::new(command.first()?).file_name()?.to_str()?;
    let (_, options, before) = WRAPPERS.iter().find(|(known, ..)| *known == name)?;
    let word = |index: usize| command.get(index).map(|word| word.to_string_lossy());
    let mut index = 1;
    while let Some(option) = word(index).filter(|word| word.starts_with('-') && word != "-") {
        index += 1;
        if option == "--" {
            break;
        }
        index += usize::from(options.takes_next(&option));
    }
    match before {
        BeforeCommand::Nothing => {}
        BeforeCommand::Word => index += 1,
        BeforeCommand::Assignments => {
            while word(index).is_some_and(|word| word.contains('=') || word == "-") {
                index += 1;
            }
        }
        BeforeCommand::Architecture => {
            const NAMES: [&str; 6] = ["linux32", "linux64", "x86_64", "i686", "i386", "uname26"];
            if word(index).is_some_and(|word| NAMES.contains(&&*word)) {
                index += 1;
                while word(index).is_some_and(|word| word.starts_with('-')) {
                    index += 1;
                }
            }
        }
    }
    (index < command.len()).then_some(index)
}

impl OptionsWithValue {
    /// Does the option's value stand in the next word?
    pub(crate) fn takes_next(&self, option: &str) -> bool {
        if let Some(long) = option.strip_prefix("--") {
            return self.long.split(' ').any(|name| name == long);
        }
        // Letters in one word: the value of the first that has one is what is left of the word, or the next word.
        let letters = option.strip_prefix('-').unwrap_or_default();
        letters.find(|letter| self.letters.contains(letter)).is_some_and(|at| at + 1 == letters.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_wrappers() {
        for (line, expected) in [
            ("nice ./app --launcher mpirun", Some("./app")),
            ("nice -n 5 mpirun -n 2", Some("mpirun")),
            ("timeout 5 grep -c mpirun F", Some("grep")),
            ("timeout -k 5 --signal=INT 10 mpirun", Some("mpirun")),
            ("time ls /usr/bin/mpirun", Some("ls")),
            ("env -u A B=1 C=2 mpirun -x D=3", Some("mpirun")),
            ("env -i mpirun", Some("mpirun")),
            ("taskset -c 0-3 mpirun", Some("mpirun")),
            ("numactl -m 0 --cpunodebind=1 mpirun", Some("mpirun")),
            ("setarch -R mpirun", Some("mpirun")),
            ("setarch x86_64 -R mpirun", Some("mpirun")),
            ("strace -f -o log mpirun", Some("mpirun")),
            ("strace -fo log mpirun", Some("mpirun")),
            ("/usr/bin/time -f %e mpirun", Some("mpirun")),
            ("mpirun -n 2", None),
            ("nohup", None),
        ] {
            let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = inner(&command).map(|index| command[index].to_string_lossy().into_owned());
            assert_eq!(found.as_deref(), expected, "{line}");
        }
    }
}
