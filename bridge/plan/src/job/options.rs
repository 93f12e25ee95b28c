//! Where a launcher's own options end: at the program. What comes behind are the program's arguments, whatever they look like.
//!
//! By `mpirun --help full` of Open MPI 4.1, prterun(1) of Open MPI 5, `mpiexec -help` and the sources of hydra 4.0 to 5.0,
//! that of Intel MPI 2021.19 by its help and by trial, srun(1), the options of PALS's mpiexec, and flux-run(1).
//! An option that is not known here is taken for one without a value.

use crate::job::kind::Launcher;

/// An option, and what belongs to it.
#[derive(Clone, Copy)]
pub(super) struct LauncherOption<'a> {
    /// Its place among the arguments.
    place: usize,
    /// Its name without hyphens, whether it has one of them or two. Empty where one hyphen means letters.
    pub(super) name: &'a str,
    /// What stands behind a `=` in the same word.
    joined: Option<&'a str>,
    /// The words behind it.
    words: &'a [String],
}

impl<'a> LauncherOption<'a> {
    /// Its values.
    pub(super) fn values(&self) -> impl Iterator<Item = &'a str> {
        self.joined.into_iter().chain(self.words.iter().map(String::as_str))
    }

    /// Its value, and the place of the word that has it.
    pub(super) fn value(&self) -> Option<(usize, &'a str)> {
        Some((self.place + usize::from(self.joined.is_none()), self.values().next()?))
    }

    /// The value of a parameter of Open MPI that the option sets, and the place of its word: the option's first value is the parameter's name.
    pub(super) fn parameter(&self, name: &str) -> Option<(usize, &'a str)> {
        let [first, value] = self.words else { return None };
        (first == name).then_some((self.place + 2, value))
    }

    /// The variable that hydra or PALS is told to set, as `NAME VALUE` or `NAME=VALUE`.
    pub(super) fn assignment(&self) -> Option<(&'a str, &'a str)> {
        let mut values = self.values().filter(|_| matches!(self.name, "env" | "genv"));
        let first = values.next()?;
        values.next().map_or_else(|| first.split_once('='), |value| Some((first, value)))
    }

    /// Is this one of its values, which are separated by commas?
    pub(super) fn lists(&self, wanted: &str) -> bool {
        self.values().flat_map(|value| value.split(',')).any(|element| element == wanted)
    }
}

/// The options among the arguments for one program, and the number of words before the program itself.
pub(super) fn parse(launcher: Launcher, args: &[String]) -> (Vec<LauncherOption<'_>>, usize) {
    let mut options = Vec::new();
    let mut index = 0;
    if launcher == Launcher::Flux {
        // `flux -v run OPTIONS`
        index = args.iter().take_while(|word| word.starts_with('-')).count() + 1;
        if !args.get(index - 1).is_some_and(|word| has(FLUX_COMMANDS, word)) {
            return (options, 0);
        }
    }
    while let Some(word) = args.get(index).filter(|word| word.starts_with('-') && *word != "-") {
        let place = index;
        index += 1;
        if word == "--" {
            break;
        }
        let rest = &args[index..];
        let (name, joined) = match word.trim_start_matches('-').split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.trim_start_matches('-'), None),
        };
        let are_letters = matches!(launcher, Launcher::Slurm | Launcher::Flux) && !word.starts_with("--");
        let count = if are_letters { of_letters(launcher, &word[1..]) } else { values(launcher, name, joined, rest) };
        let words = &rest[..count.min(rest.len())];
        options.push(LauncherOption { place, name: if are_letters { "" } else { name }, joined, words });
        index += words.len();
    }
    (options, index)
}

/// How many of the words behind it belong to the option.
fn values(launcher: Launcher, name: &str, joined: Option<&str>, rest: &[String]) -> usize {
    let one = |names: &str| usize::from(joined.is_none() && has(names, name));
    match (launcher, name) {
        (Launcher::Hydra | Launcher::Pals, "env" | "genv") if joined.is_none() => {
            if rest.first().is_some_and(|first| first.contains('=')) { 1 } else { 2 }
        }
        // hydra cuts the list in place: what the kernel shows of the command line has a word for each name.
        (Launcher::Hydra, "envlist" | "genvlist") => {
            let is_name = |word: &&String| word.split(',').all(is_variable) && !word.is_empty();
            usize::from(joined.is_none()).max(rest.iter().take_while(is_name).count())
        }
        (Launcher::Hydra, _) => one(HYDRA).max(one(INTEL)),
        (Launcher::Pals, _) => one(PALS),
        (Launcher::Slurm, _) => one(SLURM),
        (Launcher::Flux, _) => one(FLUX),
        (Launcher::Orte | Launcher::Prrte, _) if has(OPEN_MPI_PAIRS, name) => 2 * one(OPEN_MPI_PAIRS),
        (Launcher::Orte, _) => one(OPEN_MPI).max(one(ORTE)),
        (Launcher::Prrte, _) => one(OPEN_MPI).max(one(PRRTE)),
    }
}

/// How many of the words behind letters in one word (`-lN1`) belong to them: the last letter may have a value; that of an earlier one
/// stands behind it in the word.
fn of_letters(launcher: Launcher, letters: &str) -> usize {
    let with_value = if launcher == Launcher::Flux { FLUX_LETTERS } else { SLURM_LETTERS };
    let first = letters.find(|letter| with_value.contains(letter));
    usize::from(first.is_some_and(|at| at + 1 == letters.len()))
}

fn is_variable(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Is the name among these, which have blanks between them?
fn has(names: &str, name: &str) -> bool {
    names.split(' ').any(|known| known == name)
}

/// Options of Open MPI with two values, the name and the value of a parameter.
const OPEN_MPI_PAIRS: &str = "mca gmca omca gomca prtemca gprtemca pmixmca gpmixmca";

/// Options of both series of Open MPI with a value.
const OPEN_MPI: &str = "\
    H N am amca app bind-to c cf cartofile cpu-list cpu-set cpus-per-proc cpus-per-rank debugger default-hostfile \
    dvm-hostfile exec-agent hnp host hostfile launch-agent machinefile map-by max-restarts max-vm-size n np npernode \
    npersocket ompi-server output-filename path personality ppr prefix preload-files preload-files-dest-dir rank-by \
    report-events report-pid report-uri rf rankfile slot-list stdin timeout tune wd wdir x xml-file xterm";

/// Options of Open MPI up to 4 alone with a value.
const ORTE: &str = "tmpdir dvm-uri";

/// Options of Open MPI 5 alone with a value.
const PRRTE: &str = "\
    display dvm dvm-uri gpu-support initial-errhandler keepalive mem-alloc-kind memory-alloc-kinds namespace \
    num-connect-retries output pid pset rtos runtime-options set-sid-timeout stream-buffering with-ft";

/// Options of hydra with a value.
const HYDRA: &str = "\
    arch bind-to binding bootstrap bootstrap-exec ckpoint-interval ckpoint-num ckpoint-prefix ckpointlib configfile \
    demux errfile errfile-pattern f file gpath gpu-subdevs-per-proc gpus-per-proc gwdir gumask host hostfile \
    hostlist hosts iface launcher launcher-exec localhost machine machinefile map-by mapping membind n nameserver np \
    order-nodes outfile outfile-pattern path pmi-args port ppn perhost prepend-pattern rmk singleton-pid \
    singleton-port timeout topolib umask wdir";

/// Options with a value that the hydra of Intel MPI has besides.
const INTEL: &str = "\
    bootstrap-exec-args branch-count cpu-bind envexcl genvexcl grr gtool gtoolfile hosts-group pmi-aggregate \
    pmi-connect profile rr s tmpdir tune usize";

/// Options of the mpiexec of PALS with a value.
const PALS: &str = "\
    arch configfile cpu-bind d depth env envlist exclude-tasks f file genv genvlist gpu-bind host hostfile hostlist \
    hosts include-tasks mem-bind n np path pmi ppn procinfo-file rankfile rlimits rmpi soft timeout umask wdir vni";

/// The commands of Flux that start a program.
const FLUX_COMMANDS: &str = "run submit bulksubmit alloc batch";

/// Options of Flux's commands with a value that may be a word of its own.
const FLUX: &str = "\
    add-file bank bcc begin-time broker-opts cc conf cores cores-per-task cwd define dependency dump env env-file \
    env-remove error gpus-per-node gpus-per-task input job-name log log-stderr nodes nslots ntasks output queue \
    requires rlimit setattr setopt signal taskmap tasks-per-core tasks-per-node time-limit";

/// Short options of Flux's commands with a value.
const FLUX_LETTERS: &str = "BNScgnoqt";

/// Options of `srun` with a value that may be a word of its own.
const SLURM: &str = "\
    accel-bind account acctg-freq bb bbf bcast-exclude begin chdir cluster-constraint clusters comment constraint \
    container container-id context core-spec cores-per-socket cpu-bind cpu-freq cpus-per-gpu cpus-per-task deadline \
    delay-boot dependency distribution epilog error exclude export export-file extra extra-node-info gid gpu-bind \
    gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags het-group hint input job-name jobid \
    licenses mail-type mail-user max-exit-timeout mcs-label mem mem-bind mem-per-cpu mem-per-gpu mincpus mpi \
    msg-timeout network nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node \
    ntasks-per-socket ntasks-per-tres open-mode output partition power prefer priority profile prolog qos relative \
    reservation segment signal slurmd-debug sockets-per-node spread-segments step switches task-epilog task-prolog \
    thread-spec threads threads-per-core time time-min tmp topology tree-width tres-bind tres-per-task uid wait wckey";

/// Short options of `srun` with a value.
const SLURM_LETTERS: &str = "ABCDFGJLMNRSTUWacdegimnopqrtwx";

#[cfg(test)]
mod tests {
    use super::*;

    fn own(launcher: Launcher, line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        args[..parse(launcher, &args).1].join(" ")
    }

    #[test]
    fn options_end_at_the_program() {
        use Launcher::{Flux, Hydra, Orte, Pals, Prrte, Slurm};
        for (launcher, line, expected) in [
            (Orte, "-n 1 ./app mca_base_env_list X", "-n 1"),
            (
                Orte,
                "--mca mca_base_env_list A --oversubscribe -x B ./app -x C",
                "--mca mca_base_env_list A --oversubscribe -x B",
            ),
            (Orte, "--host a,b -np 2 -bind-to none ./app", "--host a,b -np 2 -bind-to none"),
            (Prrte, "--map-by=slot --display map -n 2 app -n 3", "--map-by=slot --display map -n 2"),
            (Prrte, "--prtemca a b -- app -x", "--prtemca a b --"),
            (Hydra, "-genv LD_PRELOAD x.so -n 2 ./app -genvnone", "-genv LD_PRELOAD x.so -n 2"),
            (Hydra, "-genvlist HOME LD_PRELOAD -n 2 ./app -envnone", "-genvlist HOME LD_PRELOAD -n 2"),
            (Hydra, "--np=2 -l -ppn 1 ./app", "--np=2 -l -ppn 1"),
            (Slurm, "-n 2 --export ALL -lN1 ./app --export=NONE", "-n 2 --export ALL -lN1"),
            (Slurm, "-n2 --mem=4G -K ./app", "-n2 --mem=4G -K"),
            (Hydra, "-genvexcl A,B -usize 4 -n 2 ./app -n 3", "-genvexcl A,B -usize 4 -n 2"),
            (Slurm, "./app", ""),
            (
                Pals,
                "--env A 1 -env B=2 --np=4 --ppn 2 --cpu-bind depth -d 8 -l ./app --envnone",
                "--env A 1 -env B=2 --np=4 --ppn 2 --cpu-bind depth -d 8 -l",
            ),
            (Pals, "-n 4 -- ./app -n 2", "-n 4 --"),
            (
                Flux,
                "run -N2 -n 4 -o mpi=none --env=-* --requires host:a ./app --env=-*",
                "run -N2 -n 4 -o mpi=none --env=-* --requires host:a",
            ),
            (Flux, "start ./app", ""),
            (Orte, "-n", "-n"),
        ] {
            assert_eq!(own(launcher, line), expected, "{launcher:?} {line}");
        }
    }
}
