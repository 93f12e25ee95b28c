//! Where a launcher's own options end: at the program. What comes behind are the program's arguments, whatever they look like.
//!
//! By `mpirun --help full` of Open MPI 4.1, prterun(1) of Open MPI 5, `mpiexec -help` and the sources of hydra 4.0 to 5.0,
//! that of Intel MPI 2021.19 by its help and by trial, srun(1), the options of PALS's mpiexec, and flux-run(1).
//! An option that is not known here is taken for one without a value.

use crate::job::kind::Launcher;

/// The options among the arguments for one program: everything before the program itself.
pub(super) fn of(launcher: Launcher, args: &[String]) -> &[String] {
    // `flux -v run OPTIONS`
    let is_command = |word: &String| FLUX_COMMANDS.contains(&word.as_str());
    let mut index = match launcher {
        Launcher::Flux => match args.iter().take_while(|word| word.starts_with('-')).count() {
            own if args.get(own).is_some_and(is_command) => own + 1,
            _ => return &[],
        },
        _ => 0,
    };
    while let Some(word) = args.get(index) {
        if !word.starts_with('-') || word == "-" {
            break;
        }
        index += 1;
        if word == "--" {
            break;
        }
        let rest = args.get(index..).unwrap_or_default();
        index += values(launcher, word, rest);
    }
    args.get(..index.min(args.len())).unwrap_or(args)
}

/// The name and value of an option as hydra reads it: with one dash or two, `NAME VALUE` or `NAME=VALUE`. No name if it is none.
pub(super) fn option(word: &str) -> (&str, Option<&str>) {
    let text = if word.starts_with('-') { word.trim_start_matches('-') } else { "" };
    text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)))
}

/// How many of the words behind it belong to the option.
fn values(launcher: Launcher, word: &str, rest: &[String]) -> usize {
    let (name, value) = option(word);
    match launcher {
        Launcher::Orte | Launcher::Prrte if is_assigned(word) => 0,
        Launcher::Orte | Launcher::Prrte if OPEN_MPI_PAIRS.contains(&name) => 2,
        Launcher::Orte if OPEN_MPI.contains(&name) || ORTE.contains(&name) => 1,
        Launcher::Prrte if OPEN_MPI.contains(&name) || PRRTE.contains(&name) => 1,
        Launcher::Orte | Launcher::Prrte => 0,
        Launcher::Hydra => match name {
            "env" | "genv" => {
                if rest.first().is_some_and(|first| first.contains('=')) {
                    1
                } else {
                    2
                }
            }
            // hydra cuts the list in place: what the kernel shows of the command line has a word for each name.
            "envlist" | "genvlist" => {
                let is_name = |word: &&String| word.split(',').all(is_variable) && !word.is_empty();
                let first = usize::from(value.is_none());
                first.max(rest.iter().take_while(is_name).count())
            }
            _ => usize::from(value.is_none() && (HYDRA.contains(&name) || INTEL.contains(&name))),
        },
        Launcher::Pals => match name {
            // Releases differ: NAME VALUE, NAME=VALUE.
            "env" | "genv" if rest.first().is_some_and(|first| !first.contains('=')) => 2,
            _ => usize::from(value.is_none() && PALS.contains(&name)),
        },
        Launcher::Flux | Launcher::Slurm => {
            let is_flux = launcher == Launcher::Flux;
            let (long, letters) = if is_flux { (&FLUX[..], FLUX_LETTERS) } else { (&SLURM[..], SLURM_LETTERS) };
            // Of short options in one word the last may have a value; that of an earlier one stands behind it in the word.
            let first = word.bytes().skip(1).position(|letter| letters.contains(&letter));
            let is_last = first.is_some_and(|at| at + 2 == word.len());
            let has_value = if word.starts_with("--") { value.is_none() && long.contains(&name) } else { is_last };
            usize::from(has_value)
        }
    }
}

/// `--name=value`
fn is_assigned(word: &str) -> bool {
    word.starts_with("--") && word.contains('=')
}

fn is_variable(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Of Open MPI, with a name and a value.
const OPEN_MPI_PAIRS: [&str; 8] = ["mca", "gmca", "omca", "gomca", "prtemca", "gprtemca", "pmixmca", "gpmixmca"];

/// Of both series of Open MPI, with a value.
#[rustfmt::skip]
const OPEN_MPI: [&str; 52] = [
    "H", "N", "am", "amca", "app", "bind-to", "c", "cf", "cartofile", "cpu-list", "cpu-set", "cpus-per-proc", "cpus-per-rank", "debugger",
    "default-hostfile", "dvm-hostfile", "exec-agent", "hnp", "host", "hostfile", "launch-agent", "machinefile", "map-by", "max-restarts",
    "max-vm-size", "n", "np", "npernode", "npersocket", "ompi-server", "output-filename", "path", "personality", "ppr", "prefix",
    "preload-files", "preload-files-dest-dir", "rank-by", "report-events", "report-pid", "report-uri", "rf", "rankfile", "slot-list",
    "stdin", "timeout", "tune", "wd", "wdir", "x", "xml-file", "xterm",
];

/// Of Open MPI up to 4 alone.
const ORTE: [&str; 2] = ["tmpdir", "dvm-uri"];

/// Of Open MPI 5 alone.
#[rustfmt::skip]
const PRRTE: [&str; 18] = [
    "display", "dvm", "dvm-uri", "gpu-support", "initial-errhandler", "keepalive", "mem-alloc-kind", "memory-alloc-kinds", "namespace",
    "num-connect-retries", "output", "pid", "pset", "rtos", "runtime-options", "set-sid-timeout", "stream-buffering", "with-ft",
];

/// Of hydra, with a value.
#[rustfmt::skip]
const HYDRA: [&str; 52] = [
    "arch", "bind-to", "binding", "bootstrap", "bootstrap-exec", "ckpoint-interval", "ckpoint-num", "ckpoint-prefix", "ckpointlib",
    "configfile", "demux", "errfile", "errfile-pattern", "f", "file", "gpath", "gpu-subdevs-per-proc", "gpus-per-proc",
    "gwdir", "gumask", "host", "hostfile", "hostlist", "hosts", "iface", "launcher", "launcher-exec", "localhost", "machine",
    "machinefile", "map-by", "mapping", "membind", "n", "nameserver", "np", "order-nodes", "outfile", "outfile-pattern", "path",
    "pmi-args", "port", "ppn", "perhost", "prepend-pattern", "rmk", "singleton-pid",
    "singleton-port", "timeout", "topolib", "umask", "wdir",
];

/// Of the hydra of Intel MPI besides.
#[rustfmt::skip]
const INTEL: [&str; 17] = [
    "bootstrap-exec-args", "branch-count", "cpu-bind", "envexcl", "genvexcl", "grr", "gtool", "gtoolfile", "hosts-group", "pmi-aggregate",
    "pmi-connect", "profile", "rr", "s", "tmpdir", "tune", "usize",
];

/// Of the mpiexec of PALS, with a value.
#[rustfmt::skip]
const PALS: [&str; 33] = [
    "arch", "configfile", "cpu-bind", "d", "depth", "env", "envlist", "exclude-tasks", "f", "file", "genv", "genvlist", "gpu-bind", "host",
    "hostfile", "hostlist", "hosts", "include-tasks", "mem-bind", "n", "np", "path", "pmi", "ppn", "procinfo-file", "rankfile", "rlimits",
    "rmpi", "soft", "timeout", "umask", "wdir", "vni",
];

/// The commands of Flux that start a program.
const FLUX_COMMANDS: [&str; 5] = ["run", "submit", "bulksubmit", "alloc", "batch"];

/// Of these, with a value that may be a word of its own.
#[rustfmt::skip]
const FLUX: [&str; 37] = [
    "add-file", "bank", "bcc", "begin-time", "broker-opts", "cc", "conf", "cores", "cores-per-task", "cwd", "define", "dependency", "dump",
    "env", "env-file", "env-remove", "error", "gpus-per-node", "gpus-per-task", "input", "job-name", "log", "log-stderr", "nodes", "nslots",
    "ntasks", "output", "queue", "requires", "rlimit", "setattr", "setopt", "signal", "taskmap", "tasks-per-core", "tasks-per-node",
    "time-limit",
];

/// The short ones of them.
const FLUX_LETTERS: &[u8] = b"BNScgnoqt";

/// Of `srun`, with a value that may be a word of its own.
#[rustfmt::skip]
const SLURM: [&str; 101] = [
    "accel-bind", "account", "acctg-freq", "bb", "bbf", "bcast-exclude", "begin", "chdir", "cluster-constraint", "clusters", "comment",
    "constraint", "container", "container-id", "context", "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq", "cpus-per-gpu",
    "cpus-per-task", "deadline", "delay-boot", "dependency", "distribution", "epilog", "error", "exclude", "export", "export-file",
    "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres",
    "gres-flags", "het-group", "hint", "input", "job-name", "jobid", "licenses", "mail-type", "mail-user", "max-exit-timeout",
    "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mincpus", "mpi", "msg-timeout", "network", "nodefile", "nodelist",
    "nodes", "ntasks", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "open-mode",
    "output", "partition", "power", "prefer", "priority", "profile", "prolog", "qos", "relative", "reservation", "segment", "signal",
    "slurmd-debug", "sockets-per-node", "spread-segments", "step", "switches", "task-epilog", "task-prolog", "thread-spec", "threads",
    "threads-per-core", "time", "time-min", "tmp", "topology", "tree-width", "tres-bind", "tres-per-task", "uid", "wait", "wckey",
];

/// The short ones of them.
const SLURM_LETTERS: &[u8] = b"ABCDFGJLMNRSTUWacdegimnopqrtwx";

#[cfg(test)]
mod tests {
    use super::*;

    fn own(launcher: Launcher, line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        of(launcher, &args).join(" ")
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
