//! What a launcher's command line does with the environment: which variables get to ranks on other hosts.
//!
//! On its own host every launcher lets ranks inherit everything. To other hosts hydra and `srun` pass on everything unless told
//! otherwise, Open MPI nothing but its own variables unless told otherwise. Seen on Open MPI 4.1.4 and 5.0.11, on hydra 4.0.2,
//! 4.3.2 and 5.0.1, and on that of Intel MPI 2021.19; `srun` by its manual, PALS by what its mpiexec says of itself, Flux by flux-run(1).
//!
//! Only a launcher's own options count, which end where the program begins (`options.rs`).

use std::collections::BTreeSet;
use std::ffi::OsString;

pub use super::kind::Launcher;
use super::options::{self, option};

/// Open MPI's parameter with variables to pass on.
pub const ENV_LIST: &str = "mca_base_env_list";

/// The variable that sets [`ENV_LIST`].
pub const ENV_LIST_VARIABLE: &str = "OMPI_MCA_mca_base_env_list";

/// The variable that sets what separates the elements of [`ENV_LIST`].
const DELIMITER_VARIABLE: &str = "OMPI_MCA_mca_base_env_list_delimiter";

/// hydra reads it where no option is given; `none` is what matters.
const HYDRA_ENV: &str = "HYDRA_ENV";

/// `srun` reads it where `--export` is not given.
const SLURM_EXPORT: &str = "SLURM_EXPORT_ENV";

/// PALS reads them where no option is given.
const PALS_LIST: &str = "PALS_ENVLIST";
const PALS_ALL: &str = "PALS_ENVALL";

/// A launcher's command line and its environment.
pub struct Line<'a> {
    /// Its kind.
    pub launcher: Launcher,
    /// Its arguments, without its name.
    pub args: &'a [String],
    /// Its environment.
    pub get: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Line<'a> {
    /// The arguments for each program of the job, itself and its own included; they are separated by `:`.
    pub fn programs(&self) -> impl Iterator<Item = &'a [String]> {
        self.args.split(|word| word == ":")
    }

    /// The launcher's options for each program of the job.
    pub fn options(&self) -> impl Iterator<Item = &'a [String]> {
        let launcher = self.launcher;
        self.programs().map(move |args| options::of(launcher, args))
    }

    /// The first program of the job.
    #[must_use]
    pub fn first_program(&self) -> Option<&'a str> {
        let (program, options) = self.programs().zip(self.options()).next()?;
        program.get(options.len()).map(String::as_str)
    }

    /// Which of `names` do not get to ranks on other hosts.
    #[must_use]
    pub fn dropped<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        let everywhere = |name: &str| match self.launcher {
            Launcher::Orte => self.lists(name) || self.options().all(|args| given_by_x(args, name)),
            Launcher::Prrte => self.lists(name) || self.options().any(|args| given_by_x(args, name)),
            Launcher::Hydra => self.options().all(|args| self.hydra_passes(args, name)),
            Launcher::Slurm => self.slurm_passes(name),
            Launcher::Pals => self.pals_passes(name),
            Launcher::Flux => self.flux_passes(name),
        };
        names.iter().copied().filter(|name| !everywhere(name)).collect()
    }

    /// The value of [`ENV_LIST`] among the arguments: its place and itself.
    #[must_use]
    pub fn list_argument(&self) -> Option<(usize, &'a str)> {
        let mut start = 0;
        for (program, options) in self.programs().zip(self.options()) {
            if let Some(option) = options.iter().position(|word| word == ENV_LIST) {
                return Some((start + option + 1, options.get(option + 1)?));
            }
            start += program.len() + 1;
        }
        None
    }

    /// What separates the elements of [`ENV_LIST`].
    #[must_use]
    pub fn delimiter(&self) -> char {
        let given = self.text(DELIMITER_VARIABLE).and_then(|value| value.chars().next());
        given.unwrap_or(';')
    }

    /// The value of `LD_PRELOAD` that this command line gives to ranks, whatever the environment says; the last one.
    #[must_use]
    pub fn preload(&self) -> Option<&'a str> {
        const NAME: &str = "LD_PRELOAD";
        let assigned = |word: &'a str| word.strip_prefix(NAME)?.strip_prefix('=');
        match self.launcher {
            Launcher::Orte | Launcher::Prrte => {
                let given = self.options().flat_map(|options| options.windows(2)).filter(|pair| pair[0] == "-x");
                given.filter_map(|pair| assigned(&pair[1])).last()
            }
            Launcher::Hydra => {
                let given = self.options().flat_map(|options| options.windows(3));
                given.filter(|words| sets(words) && words[1] == NAME).map(|words| words[2].as_str()).last()
            }
            Launcher::Slurm => self.export().and_then(|value| value.split(',').find_map(assigned)),
            Launcher::Pals => {
                let options = || self.options().flat_map(|options| options.windows(2)).filter(|pair| sets(pair));
                let alone = self.options().flat_map(|options| options.windows(3));
                let apart = alone.filter(|words| sets(words) && words[1] == NAME).map(|words| words[2].as_str()).last();
                apart.or_else(|| options().filter_map(|pair| assigned(&pair[1])).last())
            }
            Launcher::Flux => self.rules().filter_map(|rule| assigned(rule.text?)).last(),
        }
    }

    fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn lists(&self, name: &str) -> bool {
        let variable = self.text(ENV_LIST_VARIABLE);
        // A parameter on the command line replaces the variable.
        let list = self.list_argument().map(|(_, value)| value).or(variable.as_deref());
        list.is_some_and(|list| list.split(self.delimiter()).any(|element| names(element, name)))
    }

    /// Is it said of this program alone what it gets? Intel's hydra then passes over what is set for all (`-genv`), MPICH's does not.
    #[must_use]
    pub fn restricts(&self, options: &[String]) -> bool {
        let is_list = matches!(restriction(options, ["envall", "envnone", "envlist"]), Some(Restriction::To(_)));
        is_list || options.iter().any(|word| option(word).0 == "envexcl")
    }

    /// Does Intel's `-envexcl` keep the variable from a program? No option helps against it.
    #[must_use]
    pub fn excludes(&self, name: &str) -> bool {
        self.options().any(|args| lists(args, "envexcl", name))
    }

    fn hydra_passes(&self, args: &[String], name: &str) -> bool {
        if lists(args, "envexcl", name) {
            return false;
        }
        let set = |args: &[String]| args.windows(2).any(|pair| sets(pair) && pair[1] == name);
        let set_for_all = |args: &[String]| args.windows(2).any(|pair| option(&pair[0]).0 == "genv" && pair[1] == name);
        if set(args) || self.options().any(set_for_all) {
            return true;
        }
        if self.options().any(|args| lists(args, "genvexcl", name)) {
            return false;
        }
        // What is said of one program goes before what is said of all, and both before the variable.
        let for_all = || self.options().find_map(|args| restriction(args, ["genvall", "genvnone", "genvlist"]));
        match restriction(args, ["envall", "envnone", "envlist"]).or_else(for_all) {
            Some(Restriction::To(names)) => names.contains(name),
            Some(Restriction::All) => true,
            None => self.text(HYDRA_ENV).is_none_or(|value| value != "none"),
        }
    }

    /// The value of `--export`.
    fn export(&self) -> Option<&'a str> {
        self.export_argument().map(|(_, value)| value)
    }

    /// The word that has the value of srun's `--export`, behind a `=` or by itself: its place among the arguments, and the value.
    #[must_use]
    pub fn export_argument(&self) -> Option<(usize, &'a str)> {
        let options = self.options().next()?;
        options.iter().enumerate().find_map(|(place, word)| match word.strip_prefix("--export=") {
            Some(value) => Some((place, value)),
            None if word == "--export" => Some((place + 1, options.get(place + 1)?.as_str())),
            None => None,
        })
    }

    /// What srun is told to pass on, if it is told.
    #[must_use]
    pub fn exported(&self) -> Option<String> {
        self.export().map(str::to_owned).or_else(|| self.text(SLURM_EXPORT))
    }

    /// The word that has the value of the option of PALS with a list, and the value. What is said of the first program holds for all.
    #[must_use]
    pub fn list_of_pals(&self) -> Option<(usize, &'a str)> {
        let options = self.options().next()?;
        options.iter().enumerate().find_map(|(place, word)| match option(word) {
            ("envlist", Some(value)) => Some((place, value)),
            ("envlist", None) => Some((place + 1, options.get(place + 1)?.as_str())),
            _ => None,
        })
    }

    /// The list of variables that PALS exports, if it is told one.
    #[must_use]
    pub fn listed_for_pals(&self) -> Option<String> {
        self.list_of_pals().map(|(_, value)| value.to_owned()).or_else(|| self.text(PALS_LIST))
    }

    /// A list goes before all or nothing; what is set goes along in any case.
    fn pals_passes(&self, name: &str) -> bool {
        let is_set = |pair: &[String]| sets(pair) && pair[1].split('=').next() == Some(name);
        if self.options().any(|options| options.windows(2).any(is_set)) {
            return true;
        }
        if let Some(list) = self.listed_for_pals() {
            return list.split(',').any(|element| element == name);
        }
        let words = || self.options().flatten().map(|word| option(word).0);
        match words().filter(|word| matches!(*word, "envall" | "envnone")).last() {
            Some(word) => word == "envall",
            None => self
                .text(PALS_ALL)
                .is_none_or(|value| !matches!(&*value.to_lowercase(), "0" | "false" | "no" | "off" | "f" | "n")),
        }
    }

    /// The rules of Flux for the environment, in their order.
    fn rules(&self) -> impl Iterator<Item = FluxRule<'a>> {
        let options = self.options().next().unwrap_or_default();
        options.iter().enumerate().filter_map(|(place, word)| {
            let (name, value) = option(word);
            let value = value.or_else(|| options.get(place + 1).map(String::as_str));
            match name {
                "env" => Some(match value? {
                    rule if rule.starts_with(['-', '^']) => FluxRule { text: None },
                    rule => FluxRule { text: Some(rule) },
                }),
                "env-remove" | "env-file" => Some(FluxRule { text: None }),
                _ => None,
            }
        })
    }

    /// After a rule that may remove it, which is a pattern or stands in a file, the variable has to be named.
    fn flux_passes(&self, name: &str) -> bool {
        self.rules().fold(true, |passes, rule| match rule.text {
            None => false,
            Some(text) => passes || names(text, name),
        })
    }

    fn slurm_passes(&self, name: &str) -> bool {
        let Some(value) = self.exported() else { return true };
        value.split(',').any(|element| element == "ALL" || names(element, name))
    }
}

/// A rule of Flux that adds variables; without text, one that may remove any.
struct FluxRule<'a> {
    text: Option<&'a str>,
}

/// What hydra takes along.
enum Restriction {
    All,
    To(BTreeSet<String>),
}

/// The first of the three options that is there: everything, nothing, these.
fn restriction(args: &[String], [all, none, list]: [&str; 3]) -> Option<Restriction> {
    args.iter().enumerate().find_map(|(index, word)| {
        let (name, value) = option(word);
        if name == all {
            return Some(Restriction::All);
        }
        if name == none {
            return Some(Restriction::To(BTreeSet::new()));
        }
        // hydra cuts the list in place: what the kernel shows of the command line has a word for each name.
        let rest = args.get(index + 1..).unwrap_or_default().iter().map(String::as_str);
        let words = value.into_iter().chain(rest.take_while(|word| !word.starts_with('-')));
        (name == list).then(|| Restriction::To(words.flat_map(|word| word.split(',')).map(str::to_owned).collect()))
    })
}

/// Whether the value of such an option, a list, has this name.
fn lists(args: &[String], wanted: &str, name: &str) -> bool {
    args.iter().enumerate().any(|(index, word)| {
        let (found, value) = option(word);
        let value = value.or_else(|| args.get(index + 1).map(String::as_str));
        found == wanted && value.is_some_and(|value| value.split(',').any(|element| element == name))
    })
}

/// Whether these words begin with hydra's option that sets a variable.
fn sets(words: &[String]) -> bool {
    matches!(option(&words[0]).0, "genv" | "env")
}

fn given_by_x(args: &[String], name: &str) -> bool {
    args.windows(2).any(|pair| pair[0] == "-x" && names(&pair[1], name))
}

/// Whether `NAME`, `NAME=VALUE` or `PREFIX*` stands for this variable.
fn names(element: &str, name: &str) -> bool {
    let pattern = element.split_once('=').map_or(element, |(pattern, _)| pattern);
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["LD_PRELOAD", "QMPI_TOOL_LIST"];

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn dropped(launcher: Launcher, line: &str, variable: Option<(&str, &str)>) -> Vec<&'static str> {
        let get = |name: &str| variable.filter(|(n, _)| *n == name).map(|(_, value)| value.into());
        Line { launcher, args: &words(line), get: &get }.dropped(&NAMES)
    }

    #[test]
    fn open_mpi_passes_what_it_is_told_to() {
        use Launcher::{Orte, Prrte};
        for launcher in [Orte, Prrte] {
            assert_eq!(dropped(launcher, "-n 2 ./app", None), NAMES);
            assert_eq!(dropped(launcher, "-x LD_PRELOAD -n 2 ./app", None), ["QMPI_TOOL_LIST"]);
            assert_eq!(dropped(launcher, "-x LD_PRELOAD=/q -x QMPI_* ./app", None), [""; 0]);
            let list = Some((ENV_LIST_VARIABLE, "A;LD_PRELOAD;QMPI_TOOL_LIST=x"));
            assert_eq!(dropped(launcher, "./app", list), [""; 0]);
            assert_eq!(dropped(launcher, "--mca mca_base_env_list LD_PRELOAD ./app", list), ["QMPI_TOOL_LIST"]);
        }
        let two = "-x LD_PRELOAD -x QMPI_TOOL_LIST ./a : ./b";
        assert_eq!((dropped(Orte, two, None), dropped(Prrte, two, None)), (NAMES.to_vec(), vec![]));
    }

    #[test]
    fn hydra_passes_all_but_what_it_is_told_not_to() {
        let hydra = |line| dropped(Launcher::Hydra, line, None);
        assert_eq!(dropped(Launcher::Hydra, "./app", Some((HYDRA_ENV, "none"))), NAMES);
        assert_eq!(dropped(Launcher::Hydra, "-genvall ./app", Some((HYDRA_ENV, "none"))), [""; 0]);
        assert_eq!(hydra("-genvlist=QMPI_TOOL_LIST -n 2 ./app"), ["LD_PRELOAD"]);
        assert_eq!(hydra("-n 2 ./app"), [""; 0]);
        assert_eq!(hydra("--genvnone -n 2 ./app"), NAMES);
        assert_eq!(hydra("-genvlist HOME,LD_PRELOAD -n 2 ./app"), ["QMPI_TOOL_LIST"]);
        assert_eq!(hydra("-genvlist HOME LD_PRELOAD -n 2 ./app"), ["QMPI_TOOL_LIST"]);
        assert_eq!(hydra("-genvnone -genv LD_PRELOAD x -n 2 ./app"), ["QMPI_TOOL_LIST"]);
        assert_eq!(hydra("-n 1 ./a : -envnone -n 1 ./b"), NAMES);
        assert_eq!(hydra("-genvnone -n 2 -envall ./app"), [""; 0]);
    }

    #[test]
    fn slurm_passes_all_but_what_it_is_told_not_to() {
        let slurm = |line, variable: Option<&'static str>| {
            dropped(Launcher::Slurm, line, variable.map(|value| (SLURM_EXPORT, value)))
        };
        assert_eq!(slurm("-n 2 ./app", None), [""; 0]);
        assert_eq!(slurm("--export=NONE ./app", None), NAMES);
        assert_eq!(slurm("--export HOME,LD_PRELOAD ./app", None), ["QMPI_TOOL_LIST"]);
        assert_eq!(slurm("--export=A=1,ALL ./app", None), [""; 0]);
        assert_eq!(slurm("./app", Some("NIL")), NAMES);
        assert_eq!(slurm("--export=ALL ./app", Some("NONE")), [""; 0]);
    }

    #[test]
    fn a_preload_of_the_command_line() {
        let preload = |launcher, line: &str| {
            let args = words(line);
            Line { launcher, args: &args, get: &|_| None }.preload().map(str::to_owned)
        };
        assert_eq!(preload(Launcher::Orte, "-x LD_PRELOAD ./app"), None);
        assert_eq!(preload(Launcher::Orte, "-x LD_PRELOAD=a.so ./app").unwrap(), "a.so");
        assert_eq!(preload(Launcher::Hydra, "-genv LD_PRELOAD a.so -n 2 ./app").unwrap(), "a.so");
        assert_eq!(preload(Launcher::Slurm, "--export=ALL,LD_PRELOAD=a.so ./app").unwrap(), "a.so");
    }
}
