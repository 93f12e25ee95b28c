//! Makes a launcher pass the variables on to other hosts, where it would not by itself.
//!
//! Options are added to the launcher's own, since ranks do not see them: the program's environment stays what it is without us. Where
//! the user has Open MPI's list of variables (which excludes `-x`), that list is extended. What cannot be mended is said.

use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};

use qmpi_plan::Launcher;
use qmpi_plan::launcher::{ENV_LIST, ENV_LIST_VARIABLE, Line};
use qmpi_plan::{preload, variable};

use crate::environment::EnvironmentVariable;
use crate::launcher::{self, LauncherInCommand};
use crate::warning::Warning;

/// A command line whose launcher passes the variables on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Forward {
    /// What to run.
    pub command: Vec<OsString>,
    /// Open MPI's list of variables, if it is to be set.
    pub list: Option<EnvironmentVariable>,
    /// What is lost all the same.
    pub warnings: Vec<Warning>,
    /// What was added to the command line, as the user would have written it.
    pub added: Option<String>,
}

/// The variables that must get to every rank: those that are set, and what the runtime reads besides.
pub fn names(variables: &[EnvironmentVariable], get: &dyn Fn(&str) -> Option<OsString>) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = variables.iter().map(|variable| variable.name).collect();
    names.extend(variable::ALL.iter().filter(|name| get(name).is_some()));
    names.sort_unstable();
    names.dedup();
    names
}

/// The command line for `launcher`, in which `variables` get to every rank.
pub fn forward(
    command: &[OsString],
    found: &LauncherInCommand,
    variables: &[EnvironmentVariable],
    get: &dyn Fn(&str) -> Option<OsString>,
) -> Forward {
    let line = Line { launcher: found.launcher, args: &found.args(command), get };
    let mut job = Forwarding {
        line: &line,
        file: &found.file,
        names: names(variables, get),
        value: &|name| match variables.iter().find(|variable| variable.name == name) {
            Some(variable) => variable.value.clone(),
            None => get(name).unwrap_or_default().to_string_lossy().into_owned(),
        },
        forward: Forward { command: command.to_vec(), ..Forward::default() },
        edits: Vec::new(),
        added: Vec::new(),
    };
    job.other_preload();
    match found.launcher {
        Launcher::Orte => job.orte(),
        Launcher::Prrte => job.prrte(),
        Launcher::Hydra => job.hydra(),
        Launcher::Slurm | Launcher::Pals => job.listed(),
        Launcher::Flux => job.flux(),
    }
    let Forwarding { mut forward, edits, added, .. } = job;
    // From behind, so that the places in front stay.
    for (place, words) in edits.into_iter().rev() {
        let (start, end) = (found.index + 1 + place.start, found.index + 1 + place.end);
        forward.command.splice(start..end, words.into_iter().map(OsString::from));
    }
    forward.added = (!added.is_empty()).then(|| added.join(" "));
    forward
}

struct Forwarding<'a> {
    line: &'a Line<'a>,
    file: &'a Path,
    names: Vec<&'static str>,
    value: &'a dyn Fn(&str) -> String,
    forward: Forward,
    /// Which of the launcher's arguments are replaced, and by what, in their order; an empty range is where words are added.
    edits: Vec<(Range<usize>, Vec<String>)>,
    /// What was added, as the user would have written it.
    added: Vec<String>,
}

impl Forwarding<'_> {
    /// `-x` for each program of the job; or the list, which Open MPI refuses beside `-x`.
    fn orte(&mut self) {
        if let Some((place, list)) = self.line.list_argument() {
            let list = self.extended(list, &self.line.dropped(&self.names));
            self.replace(place, &list);
            return;
        }
        let tuned = launcher::option_values(self.line, &["tune", "am", "amca"]);
        let mut tuned = tuned.iter().flat_map(|files| files.split([',', ':']));
        if let Some(file) = tuned.find(|file| mentions(Path::new(file), |text| text.contains(ENV_LIST))) {
            let lost = format!("{file} has a list of variables without {}: {LOST}", self.names.join(", "));
            return self.warn(lost, format!("add them to {ENV_LIST} there"));
        }
        let has_x = self.line.options().flatten().any(|word| word == "-x");
        let from_file = |file: &PathBuf| mentions(file, |text| text.split_whitespace().any(|word| word == "-x"));
        let list = self.line.text(ENV_LIST_VARIABLE).or_else(|| self.list_of_parameter_files());
        match (list, self.app_file()) {
            (Some(list), _) => self.set_list(&list),
            (None, Some(file)) if has_x || from_file(&file) => {
                let (names, file) = (self.names.join(", "), file.display());
                let advice = format!("add {} to each of its lines", self.line.launcher.advice(&self.names));
                self.warn(format!("Open MPI does not pass {names} on to the programs of {file}: {LOST}"), advice);
            }
            (None, Some(_)) => self.set_list(""),
            (None, None) => {
                for (start, own) in self.line.programs() {
                    self.insert(start, options(&own.dropped(&self.names)));
                }
            }
        }
    }

    /// `-x` once for all programs; or the list for those of a file.
    fn prrte(&mut self) {
        let dropped = self.line.dropped(&self.names);
        if !dropped.is_empty() && self.app_file().is_some() {
            self.set_list(&self.line.text(ENV_LIST_VARIABLE).unwrap_or_default());
        } else {
            self.insert(0, options(&dropped));
        }
    }

    /// The values themselves, which hydra passes on whatever is said of the environment: for all programs, and for one of which it is said
    /// what it gets once more, as Intel's wants it.
    fn hydra(&mut self) {
        let (excluded, dropped): (Vec<&str>, Vec<&str>) =
            self.line.dropped(&self.names).into_iter().partition(|name| self.line.excludes(name));
        if !excluded.is_empty() {
            let lost = format!("the launcher is told to keep {} from ranks: {LOST}", excluded.join(", "));
            self.warn(lost, "leave these names out of -envexcl".to_owned());
        }
        let value = self.value;
        let set = |option: &str| -> Vec<String> {
            dropped.iter().flat_map(|name| [option.to_owned(), (*name).to_owned(), value(name)]).collect()
        };
        self.insert(0, set("-genv"));
        for (start, _) in self.line.programs().filter(|(_, own)| own.options().any(|of| own.restricts(of))) {
            self.insert(start, set("-env"));
        }
    }

    /// A rule for each, behind those of the user: rules are applied in their order.
    fn flux(&mut self) {
        let own = self.line.options().next().unwrap_or_default();
        let end = own.iter().position(|word| word == "--").unwrap_or(own.len());
        let rules = self.line.dropped(&self.names).into_iter().map(|name| format!("--env={name}"));
        self.insert(end, rules.collect());
    }

    /// What srun or PALS is to pass on, with these names: a list of the user's is extended, and `NONE` or `--envnone` becomes the names alone,
    /// which is the same but for these. srun is told for each program, PALS once for all.
    fn listed(&mut self) {
        let is_slurm = self.line.launcher == Launcher::Slurm;
        let programs: Vec<(usize, Line<'_>)> =
            if is_slurm { self.line.programs().collect() } else { vec![(0, *self.line)] };
        for (start, own) in programs {
            let dropped = own.dropped(&self.names);
            if dropped.is_empty() {
                continue;
            }
            let value = own.listed().filter(|value| !(is_slurm && matches!(value.as_str(), "NONE" | "NIL")));
            let list = joined(&value.unwrap_or_default(), &dropped, ',');
            let option =
                if is_slurm { vec![format!("--export={list}")] } else { vec!["--envlist".into(), list.clone()] };
            match own.listed_argument() {
                Some((place, _)) => {
                    self.replace(start + place, &list);
                    self.added.extend(option);
                }
                // The variable, which an option replaces.
                None => self.insert(start, option),
            }
        }
    }

    /// Warns of a value of `LD_PRELOAD` for the ranks in which we are not.
    fn other_preload(&mut self) {
        if let Some(value) = self.line.preload().filter(|value| !preload::has_runtime(value)) {
            self.warn(
                format!("the launcher is told to set LD_PRELOAD={value} for ranks: these run without the stack"),
                format!("set it before: `LD_PRELOAD={value} qmpi run ...`"),
            );
        }
    }

    fn set_list(&mut self, list: &str) {
        let get = |name: &str| if name == ENV_LIST_VARIABLE { Some(list.into()) } else { (self.line.get)(name) };
        let dropped = Line { get: &get, ..*self.line }.dropped(&self.names);
        let value = self.extended(list, &dropped);
        self.forward.list = Some(EnvironmentVariable { name: ENV_LIST_VARIABLE, value });
    }

    /// The list with these names. Open MPI cuts a value at the delimiter, although only its name is in the list.
    fn extended(&mut self, list: &str, names: &[&str]) -> String {
        let delimiter = self.line.delimiter();
        for name in names.iter().filter(|name| (self.value)(name).contains(delimiter)) {
            self.warn(
                format!("{name} contains `{delimiter}`, at which Open MPI cuts it on other hosts"),
                "use -x instead of a list of variables, or paths without that character".to_owned(),
            );
        }
        joined(list, names, delimiter)
    }

    /// The list in Open MPI's own files; a variable replaces it.
    fn list_of_parameter_files(&self) -> Option<String> {
        let files: Vec<PathBuf> = match self.line.text("OMPI_MCA_mca_base_param_files") {
            Some(files) => files.split([',', ':']).map(PathBuf::from).collect(),
            None => {
                let home = (self.line.get)("HOME").map(|home| Path::new(&home).join(".openmpi/mca-params.conf"));
                let prefix = self.file.parent().and_then(Path::parent);
                let etc = prefix.map(|prefix| prefix.join("etc/openmpi-mca-params.conf"));
                home.into_iter().chain(etc).chain([PathBuf::from("/etc/openmpi/openmpi-mca-params.conf")]).collect()
            }
        };
        files.iter().find_map(|file| {
            let text = std::fs::read_to_string(file).ok()?;
            let mut settings = text.lines().filter_map(|line| line.split_once('='));
            settings
                .find(|(name, _)| name.trim() == ENV_LIST)
                .map(|(_, value)| value.trim().trim_matches('"').to_owned())
        })
    }

    /// The file with one program a line.
    fn app_file(&self) -> Option<PathBuf> {
        launcher::option_values(self.line, &["app"]).into_iter().map(PathBuf::from).find(|file| file.is_file())
    }

    fn warn(&mut self, message: String, hint: String) {
        self.forward.warnings.push(Warning::new(message, hint));
    }

    /// Adds options in front of the argument at `place`.
    fn insert(&mut self, place: usize, options: Vec<String>) {
        self.added.extend_from_slice(&options);
        self.edits.push((place..place, options));
    }

    /// Gives an option another value, which is the argument at `place` or stands behind a `=` in it.
    fn replace(&mut self, place: usize, value: &str) {
        let option = self.line.args[place].split_once('=').filter(|(option, _)| option.starts_with('-'));
        let word = option.map_or_else(|| value.to_owned(), |(option, _)| format!("{option}={value}"));
        self.edits.push((place..place + 1, vec![word]));
    }
}

const LOST: &str = "ranks on other hosts run without the stack";

fn options(names: &[&str]) -> Vec<String> {
    names.iter().flat_map(|name| ["-x".to_owned(), (*name).to_owned()]).collect()
}

/// The list with these names behind what is in it.
fn joined(list: &str, names: &[&str], delimiter: char) -> String {
    let elements = list.split(delimiter).filter(|element| !element.is_empty()).chain(names.iter().copied());
    elements.collect::<Vec<_>>().join(&delimiter.to_string())
}

fn mentions(file: &Path, what: impl Fn(&str) -> bool) -> bool {
    std::fs::read_to_string(file).is_ok_and(|text| what(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRELOAD: &str = "/q/libqmpi.so";

    fn run(launcher: Launcher, line: &str, env: &[(&str, &str)]) -> Forward {
        let command: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let variables = [("QMPI_TOOL_LIST", "a"), ("LD_PRELOAD", PRELOAD)]
            .map(|(name, value)| EnvironmentVariable { name, value: value.to_owned() });
        let get = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into());
        let found = LauncherInCommand { index: 0, launcher, file: "/nowhere/bin/x".into() };
        forward(&command, &found, &variables, &get)
    }

    fn command(launcher: Launcher, line: &str) -> String {
        let forward = run(launcher, line, &[]);
        assert_eq!((forward.warnings, forward.list), (vec![], None), "{line}");
        forward.command.join(std::ffi::OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn options_are_added_where_needed() {
        use Launcher::{Flux, Hydra, Orte, Pals, Prrte, Slurm};
        for (launcher, line, expected) in [
            (Orte, "mpirun -n 2 ./a", "mpirun -x LD_PRELOAD -x QMPI_TOOL_LIST -n 2 ./a"),
            (Orte, "mpirun -x LD_PRELOAD -x A ./a", "mpirun -x QMPI_TOOL_LIST -x LD_PRELOAD -x A ./a"),
            (
                Orte,
                "mpirun ./a : -x LD_PRELOAD ./b",
                "mpirun -x LD_PRELOAD -x QMPI_TOOL_LIST ./a : -x QMPI_TOOL_LIST -x LD_PRELOAD ./b",
            ),
            (
                Orte,
                "mpirun --mca mca_base_env_list A;LD_PRELOAD ./a",
                "mpirun --mca mca_base_env_list A;LD_PRELOAD;QMPI_TOOL_LIST ./a",
            ),
            // What belongs to the program stays as it is, and says nothing.
            (
                Orte,
                "mpirun -n 1 ./a mca_base_env_list X -x LD_PRELOAD",
                "mpirun -x LD_PRELOAD -x QMPI_TOOL_LIST -n 1 ./a mca_base_env_list X -x LD_PRELOAD",
            ),
            (Hydra, "mpiexec -n 2 ./a -genvnone", "mpiexec -n 2 ./a -genvnone"),
            (Slurm, "srun ./a --export=NONE", "srun ./a --export=NONE"),
            (Prrte, "mpirun ./a : ./b", "mpirun -x LD_PRELOAD -x QMPI_TOOL_LIST ./a : ./b"),
            (Hydra, "mpiexec -n 2 ./a", "mpiexec -n 2 ./a"),
            (
                Hydra,
                "mpiexec -genvnone ./a",
                "mpiexec -genv LD_PRELOAD /q/libqmpi.so -genv QMPI_TOOL_LIST a -genvnone ./a",
            ),
            (
                Hydra,
                "mpiexec -n 1 ./a : -envnone ./b",
                "mpiexec -genv LD_PRELOAD /q/libqmpi.so -genv QMPI_TOOL_LIST a -n 1 ./a : -env LD_PRELOAD /q/libqmpi.so -env QMPI_TOOL_LIST a -envnone ./b",
            ),
            (
                Hydra,
                "mpiexec -genvexcl A,LD_PRELOAD ./a",
                "mpiexec -genv LD_PRELOAD /q/libqmpi.so -genvexcl A,LD_PRELOAD ./a",
            ),
            (Pals, "mpiexec -n 2 --ppn 1 ./a --envnone", "mpiexec -n 2 --ppn 1 ./a --envnone"),
            (Pals, "mpiexec --envnone -n 2 ./a", "mpiexec --envlist LD_PRELOAD,QMPI_TOOL_LIST --envnone -n 2 ./a"),
            (Pals, "mpiexec --envlist A,LD_PRELOAD ./a", "mpiexec --envlist A,LD_PRELOAD,QMPI_TOOL_LIST ./a"),
            (Pals, "mpiexec -envlist=A ./a : ./b", "mpiexec -envlist=A,LD_PRELOAD,QMPI_TOOL_LIST ./a : ./b"),
            (Flux, "flux run -n 2 ./a --env=-*", "flux run -n 2 ./a --env=-*"),
            (
                Flux,
                "flux run --env=-* --env=PATH -n2 ./a",
                "flux run --env=-* --env=PATH -n2 --env=LD_PRELOAD --env=QMPI_TOOL_LIST ./a",
            ),
            (
                Flux,
                "flux run --env-remove * --env=QMPI_* -- ./a",
                "flux run --env-remove * --env=QMPI_* --env=LD_PRELOAD -- ./a",
            ),
            (Flux, "flux run --env-remove=* --env=* ./a", "flux run --env-remove=* --env=* ./a"),
            (Slurm, "srun ./a", "srun ./a"),
            (Slurm, "srun --export=NONE -n 2 ./a", "srun --export=LD_PRELOAD,QMPI_TOOL_LIST -n 2 ./a"),
            (Slurm, "srun -n 2 --export A=1,LD_PRELOAD ./a", "srun -n 2 --export A=1,LD_PRELOAD,QMPI_TOOL_LIST ./a"),
            (Slurm, "srun --export=ALL,A ./a", "srun --export=ALL,A ./a"),
            (
                Slurm,
                "srun ./a : --export=NIL ./b : --export=B ./c",
                "srun ./a : --export=LD_PRELOAD,QMPI_TOOL_LIST ./b : --export=B,LD_PRELOAD,QMPI_TOOL_LIST ./c",
            ),
        ] {
            assert_eq!(command(launcher, line), expected);
        }
    }

    #[test]
    fn a_list_of_the_users_is_extended() {
        let forward = run(Launcher::Orte, "mpirun ./a", &[(ENV_LIST_VARIABLE, "A=1;LD_PRELOAD")]);
        assert_eq!(forward.list.unwrap().value, "A=1;LD_PRELOAD;QMPI_TOOL_LIST");
        assert_eq!(forward.command.len(), 2);
    }

    #[test]
    fn a_variable_of_slurms_is_replaced() {
        let forward = run(Launcher::Slurm, "srun -n 2 ./a", &[("SLURM_EXPORT_ENV", "NONE")]);
        assert_eq!(forward.added.as_deref(), Some("--export=LD_PRELOAD,QMPI_TOOL_LIST"));
        assert_eq!(forward.command.join(std::ffi::OsStr::new(" ")), "srun --export=LD_PRELOAD,QMPI_TOOL_LIST -n 2 ./a");
        assert_eq!(run(Launcher::Slurm, "srun --export=ALL ./a", &[("SLURM_EXPORT_ENV", "NONE")]).added, None);
    }

    #[test]
    fn variables_of_pals_are_replaced() {
        for (name, value, expected) in [
            ("PALS_ENVLIST", "A,B", Some("--envlist A,B,LD_PRELOAD,QMPI_TOOL_LIST")),
            ("PALS_ENVALL", "0", Some("--envlist LD_PRELOAD,QMPI_TOOL_LIST")),
            ("PALS_ENVALL", "1", None),
        ] {
            assert_eq!(
                run(Launcher::Pals, "mpiexec ./a", &[(name, value)]).added.as_deref(),
                expected,
                "{name}={value}"
            );
        }
        assert_eq!(run(Launcher::Pals, "mpiexec --envall ./a", &[("PALS_ENVALL", "0")]).added, None);
    }

    #[test]
    fn what_intel_mpi_is_told_to_keep() {
        let forward = run(Launcher::Hydra, "mpiexec -envexcl LD_PRELOAD -n 2 ./a", &[]);
        assert!(forward.warnings[0].message.contains("keep LD_PRELOAD from ranks"), "{:?}", forward.warnings);
    }

    #[test]
    fn what_the_runtime_reads_besides_goes_along() {
        let forward = run(Launcher::Prrte, "mpirun ./a", &[("QMPI_TOOL_PATH", "/t"), ("HOME", "/h")]);
        assert_eq!(forward.added.unwrap(), "-x LD_PRELOAD -x QMPI_TOOL_LIST -x QMPI_TOOL_PATH");
    }

    #[test]
    fn what_is_lost_is_said() {
        let said = |launcher, line: &str| run(launcher, line, &[]).warnings.remove(0).message;
        assert!(said(Launcher::Slurm, "srun --export=ALL,LD_PRELOAD=m.so ./a").contains("told to set LD_PRELOAD=m.so"));
        assert!(said(Launcher::Orte, "mpirun -x LD_PRELOAD=m.so ./a").contains("told to set LD_PRELOAD=m.so"));
        assert!(run(Launcher::Orte, "mpirun -x LD_PRELOAD=m.so:/q/libqmpi.so ./a", &[]).warnings.is_empty());
        let listed = run(Launcher::Orte, "mpirun ./a", &[(ENV_LIST_VARIABLE, "A"), ("QMPI_TOOL_PATH", "/a;b")]);
        assert!(listed.warnings[0].message.contains("QMPI_TOOL_PATH contains `;`"));
    }
}
