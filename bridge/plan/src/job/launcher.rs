//! What a launcher's command line does with the environment: which variables get to ranks on other hosts.
//!
//! On its own host every launcher lets ranks inherit everything. To other hosts hydra and `srun` pass on everything unless told
//! otherwise, Open MPI nothing but its own variables unless told otherwise. Seen on Open MPI 4.1.4 and 5.0.11, on hydra 4.0.2,
//! 4.3.2 and 5.0.1, and on that of Intel MPI 2021.19; `srun` by its manual, PALS by what its mpiexec says of itself, Flux by flux-run(1).
//!
//! Only a launcher's own options count, which end where the program begins (`options.rs`).

use std::ffi::OsString;

pub use super::kind::Launcher;
use super::options::{self, LauncherOption};
use super::preload;

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
#[derive(Clone, Copy)]
pub struct Line<'a> {
    /// Its kind.
    pub launcher: Launcher,
    /// Its arguments, without its name.
    pub args: &'a [String],
    /// Its environment.
    pub get: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Line<'a> {
    /// The line for each program of the job, with the program's own arguments, and where it begins among all; a `:` separates them.
    pub fn programs(&self) -> impl Iterator<Item = (usize, Line<'a>)> + use<'a> {
        let line = *self;
        line.args.split(|word| word == ":").scan(0, move |next, args| {
            let start = *next;
            *next += args.len() + 1;
            Some((start, Line { args, ..line }))
        })
    }

    /// The launcher's options for each program of the job.
    pub fn options(&self) -> impl Iterator<Item = &'a [String]> + use<'a> {
        self.programs().map(|(_, own)| &own.args[..options::parse(own.launcher, own.args).1])
    }

    /// The launcher's options for each program of the job, each with its values.
    fn parsed(&self) -> impl Iterator<Item = Vec<LauncherOption<'a>>> + use<'a> {
        self.programs().map(|(_, own)| options::parse(own.launcher, own.args).0)
    }

    /// The options of the first program; what Slurm, PALS and Flux are told of it holds for all.
    fn of_first(&self) -> Vec<LauncherOption<'a>> {
        self.parsed().next().unwrap_or_default()
    }

    /// The first program of the job.
    pub fn first_program(&self) -> Option<&'a str> {
        self.args.get(self.options().next()?.len()).map(String::as_str)
    }

    /// Which of `names` do not get to ranks on other hosts.
    pub fn dropped<'n>(&self, names: &[&'n str]) -> Vec<&'n str> {
        let programs: Vec<_> = self.parsed().collect();
        let everywhere = |name: &str| match self.launcher {
            Launcher::Orte => self.lists(name) || programs.iter().all(|options| given_by_x(options, name)),
            Launcher::Prrte => self.lists(name) || programs.iter().any(|options| given_by_x(options, name)),
            Launcher::Hydra => programs.iter().all(|options| self.hydra_passes(&programs, options, name)),
            Launcher::Slurm => self.slurm_passes(name),
            Launcher::Pals => self.pals_passes(name),
            Launcher::Flux => self.flux_passes(name),
        };
        names.iter().copied().filter(|name| !everywhere(name)).collect()
    }

    /// The value of [`ENV_LIST`] among the arguments: its place and itself.
    pub fn list_argument(&self) -> Option<(usize, &'a str)> {
        self.programs().find_map(|(start, own)| {
            let (place, value) = own.of_first().iter().find_map(|option| option.parameter(ENV_LIST))?;
            Some((start + place, value))
        })
    }

    /// What separates the elements of [`ENV_LIST`].
    pub fn delimiter(&self) -> char {
        let given = self.text(DELIMITER_VARIABLE).and_then(|value| value.chars().next());
        given.unwrap_or(';')
    }

    /// The value of `LD_PRELOAD` that this command line gives to ranks, whatever the environment says; the last one.
    pub fn preload(&self) -> Option<&'a str> {
        let options: Vec<_> = self.parsed().flatten().collect();
        let pairs: Vec<(&str, &str)> = match self.launcher {
            Launcher::Orte | Launcher::Prrte => {
                let values = options.iter().filter(|option| option.name == "x").filter_map(LauncherOption::value);
                values.filter_map(|(_, value)| value.split_once('=')).collect()
            }
            Launcher::Hydra | Launcher::Pals => options.iter().filter_map(LauncherOption::assignment).collect(),
            Launcher::Slurm => self.listed_argument()?.1.split(',').filter_map(|text| text.split_once('=')).collect(),
            Launcher::Flux => self.rules().into_iter().filter_map(|rule| rule?.split_once('=')).collect(),
        };
        pairs.into_iter().rev().find(|(name, _)| *name == preload::VARIABLE).map(|(_, value)| value)
    }

    /// A variable of its environment.
    pub fn text(&self, name: &str) -> Option<String> {
        (self.get)(name).map(|value| value.to_string_lossy().into_owned())
    }

    fn lists(&self, name: &str) -> bool {
        let variable = self.text(ENV_LIST_VARIABLE);
        // A parameter on the command line replaces the variable.
        let list = self.list_argument().map(|(_, value)| value).or(variable.as_deref());
        list.is_some_and(|list| list.split(self.delimiter()).any(|element| names(element, name)))
    }

    /// Is it said of this program alone what it gets? Intel's hydra then passes over what is set for all (`-genv`), MPICH's does not.
    pub fn restricts(&self, options: &[String]) -> bool {
        let (options, _) = options::parse(self.launcher, options);
        let is_list = matches!(restriction(&options, ["envall", "envnone", "envlist"]), Some(Restriction::To(_)));
        is_list || options.iter().any(|option| option.name == "envexcl")
    }

    /// Does Intel's `-envexcl` keep the variable from a program? No option helps against it.
    pub fn excludes(&self, name: &str) -> bool {
        self.parsed().any(|options| lists(&options, "envexcl", name))
    }

    fn hydra_passes(&self, programs: &[Vec<LauncherOption<'_>>], options: &[LauncherOption<'_>], name: &str) -> bool {
        if lists(options, "envexcl", name) {
            return false;
        }
        let sets = |option: &LauncherOption<'_>| option.assignment().is_some_and(|(variable, _)| variable == name);
        if options.iter().any(sets) || programs.iter().flatten().any(|option| option.name == "genv" && sets(option)) {
            return true;
        }
        if programs.iter().any(|options| lists(options, "genvexcl", name)) {
            return false;
        }
        // What is said of one program goes before what is said of all, and both before the variable.
        let for_all = || programs.iter().find_map(|args| restriction(args, ["genvall", "genvnone", "genvlist"]));
        match restriction(options, ["envall", "envnone", "envlist"]).or_else(for_all) {
            Some(Restriction::To(list)) => list.is_some_and(|list| list.lists(name)),
            Some(Restriction::All) => true,
            None => self.text(HYDRA_ENV).is_none_or(|value| value != "none"),
        }
    }

    /// The word that has the value of srun's `--export` or of `--envlist` of PALS, behind a `=` or by itself: its place among the
    /// arguments, and the value.
    pub fn listed_argument(&self) -> Option<(usize, &'a str)> {
        let name = if self.launcher == Launcher::Slurm { "export" } else { "envlist" };
        self.of_first().iter().find(|option| option.name == name)?.value()
    }

    /// The variables that srun or PALS is told to pass on, if it is told.
    pub fn listed(&self) -> Option<String> {
        let variable = if self.launcher == Launcher::Slurm { SLURM_EXPORT } else { PALS_LIST };
        self.listed_argument().map(|(_, value)| value.to_owned()).or_else(|| self.text(variable))
    }

    /// A list goes before all or nothing; what is set goes along in any case.
    fn pals_passes(&self, name: &str) -> bool {
        let options: Vec<_> = self.parsed().flatten().collect();
        if options.iter().filter_map(LauncherOption::assignment).any(|(variable, _)| variable == name) {
            return true;
        }
        if let Some(list) = self.listed() {
            return list.split(',').any(|element| element == name);
        }
        match options.iter().rev().find(|option| matches!(option.name, "envall" | "envnone")) {
            Some(option) => option.name == "envall",
            None => self
                .text(PALS_ALL)
                .is_none_or(|value| !matches!(&*value.to_lowercase(), "0" | "false" | "no" | "off" | "f" | "n")),
        }
    }

    /// The rules of Flux for the environment, in their order; `None` for one that may remove any variable.
    fn rules(&self) -> Vec<Option<&'a str>> {
        let rule = |option: LauncherOption<'a>| match option.name {
            "env" => Some(option.value().map(|(_, rule)| rule).filter(|rule| !rule.starts_with(['-', '^']))),
            "env-remove" | "env-file" => Some(None),
            _ => None,
        };
        self.of_first().into_iter().filter_map(rule).collect()
    }

    /// After a rule that may remove it, which is a pattern or stands in a file, the variable has to be named.
    fn flux_passes(&self, name: &str) -> bool {
        self.rules().iter().fold(true, |passes, rule| rule.is_some_and(|rule| passes || names(rule, name)))
    }

    fn slurm_passes(&self, name: &str) -> bool {
        let Some(value) = self.listed() else { return true };
        value.split(',').any(|element| element == "ALL" || names(element, name))
    }
}

/// What hydra takes along.
enum Restriction<'a> {
    All,
    /// What this option lists; nothing if `None`.
    To(Option<LauncherOption<'a>>),
}

/// The first of the three options that is there: everything, nothing, these.
fn restriction<'a>(options: &[LauncherOption<'a>], [all, none, list]: [&str; 3]) -> Option<Restriction<'a>> {
    options.iter().find_map(|option| match option.name {
        name if name == all => Some(Restriction::All),
        name if name == none => Some(Restriction::To(None)),
        name if name == list => Some(Restriction::To(Some(*option))),
        _ => None,
    })
}

/// Whether the value of such an option, a list, has this name.
fn lists(options: &[LauncherOption<'_>], wanted: &str, name: &str) -> bool {
    options.iter().any(|option| option.name == wanted && option.lists(name))
}

fn given_by_x(options: &[LauncherOption<'_>], name: &str) -> bool {
    options.iter().any(|option| option.name == "x" && option.value().is_some_and(|(_, value)| names(value, name)))
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
