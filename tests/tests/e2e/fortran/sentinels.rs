//! Addresses that mean something in Fortran (`MPI_IN_PLACE`, `MPI_BOTTOM`, `MPI_STATUS_IGNORE`, ...) where MPI's Fortran library
//! is opened in the course of a program, by a process with or without an MPI before, with RTLD_LOCAL and RTLD_GLOBAL.
//!
//! These are addresses of common blocks, which the program, the tool and MPI's Fortran library all define. Under plain LD_PRELOAD the
//! tool's definitions are those of the whole process, since the dynamic linker searches preloaded objects before the objects that
//! dlopen adds, whatever their scope: each tool recognizes every sentinel and the program's results are those of a run without
//! tools. The same has to hold in a stack.

use std::collections::BTreeMap;
use std::path::PathBuf;

use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("alone_mpifh", &Mpi::ALL, |mpi| alone(mpi, MPIFH)),
        ("alone_use_mpi", &Mpi::ALL, |mpi| alone(mpi, USE_MPI)),
        ("alone_f08", &Mpi::ALL, |mpi| alone(mpi, F08)),
        ("stacks_mpifh", &Mpi::ALL, |mpi| stacks(mpi, MPIFH)),
        ("stacks_use_mpi", &Mpi::ALL, |mpi| stacks(mpi, USE_MPI)),
        ("stacks_f08", &Mpi::ALL, |mpi| stacks(mpi, F08)),
        ("spawn", &Mpi::ALL, spawn),
        ("zero_count_waitall", &Mpi::ALL, zero_count_waitall),
    ])
}

/// The libraries in Fortran that `tests/programs/sentinels.c` opens.
const MPIFH: &str = "sentinels_mpifh.so";
const USE_MPI: &str = "sentinels_use_mpi.so";
const F08: &str = "sentinels_f08.so";

/// The tool whose Fortran wrappers convert the sentinels and go on in C, as those of mpiP do.
const TO_C: &str = "sentinels_to_c";
/// The tool that has Fortran wrappers only and goes on in Fortran.
const ON: &str = "sentinels_on";
/// The tool that has C wrappers only.
const C: &str = "counter";

/// How the library is opened, and what the process has of MPI then: the arguments of `sentinels.c`.
type Way = [&'static str; 2];

const WAYS: [Way; 10] = [
    ["local", "alone"],
    ["global", "alone"],
    ["local", "opened"],
    ["global", "opened"],
    ["local", "initialized"],
    ["global", "initialized"],
    ["local", "before"],
    ["global", "before"],
    ["local", "after"],
    ["global", "after"],
];

/// How many sentinels the program passes in each call of a function.
const SENTINELS: [(&str, u64); 5] =
    [("Allreduce", 1), ("Sendrecv", 2), ("Waitall", 1), ("Dist_graph_create_adjacent", 2), ("Comm_spawn", 2)];

/// The program that has of MPI what the way says.
fn program_for(mpi: Mpi, way: Way) -> PathBuf {
    let linked = ["before", "after"].contains(&way[1]);
    program(mpi, if linked { "sentinels_linked.c" } else { "sentinels.c" })
}

fn job(mpi: Mpi, part: &str, way: Way) -> Job {
    Job::alone(mpi, &program_for(mpi, way)).args(&[part, way[0], way[1]].map(str::to_owned))
}

/// Does the program work without any tool? A way that does not is no reference for tools; that it fails is checked all the same, so
/// that this list says what is true of each release.
fn works(mpi: Mpi, part: &str, way: Way) -> bool {
    let is = |known: &[&str]| known.contains(&way[1]);
    match (mpi, part) {
        (Mpi::OpenMpi, _) => true,
        // With mpi_f08 of MPICH 3.4 (Debian 11) and 4.0 (Debian 12) it crashes where a library with RTLD_LOCAL has brought MPI's C library
        // before; with 4.2 (Debian 13) it does not.
        (Mpi::Mpich, F08) => {
            mpi.defined("MPICH_NUMVERSION").is_some_and(|number| number >= 40_200_000)
                || !is(&["opened", "initialized"])
        }
        // MPICH 3.4 (Debian 11) has wrong results and crashes where its C library was linked or initialized before its Fortran library
        // is opened.
        (Mpi::Mpich, _) => mpi.standard() > 3 || !is(&["initialized", "before", "after"]),
    }
}

/// Those among `ways` in which the program works without any tool; in the others it has to fail.
fn ways(mpi: Mpi, part: &str, ways: &[Way]) -> Result<Vec<Way>, String> {
    let (working, failing): (Vec<Way>, Vec<Way>) = ways.iter().partition(|way| works(mpi, part, **way));
    for way in failing {
        if let Ok(outcome) = native(&job(mpi, part, way)) {
            return Err(format!("without tools it works now, {way:?}\n{}", outcome.report()));
        }
    }
    Ok(working)
}

/// What the program printed.
fn results(outcome: &Outcome) -> Vec<&str> {
    outcome.stdout.lines().filter(|line| line.starts_with("sentinels")).collect()
}

/// What the layers that are instances of a tool saw: function → calls in Fortran, in C, and sentinels that were recognized.
fn seen(outcome: &Outcome, name: &str) -> BTreeMap<String, [u64; 3]> {
    let mut seen: BTreeMap<String, [u64; 3]> = BTreeMap::new();
    let prefix = format!("tool {name}: ");
    for line in outcome.stdout.lines().filter_map(|line| line.strip_prefix(prefix.as_str())) {
        let function = line.split(' ').next().unwrap_or_default();
        let numbers = line.split([' ', '=']).filter_map(|word| word.parse::<u64>().ok());
        let row = seen.entry(function.to_owned()).or_default();
        row.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
    }
    seen
}

/// Calls of each function, in whichever language.
fn calls(outcome: &Outcome, name: &str) -> BTreeMap<String, u64> {
    seen(outcome, name).into_iter().map(|(function, [fortran, c, _])| (function, fortran + c)).collect()
}

/// The program has its results, and each Fortran wrapper recognized all sentinels.
fn right(outcome: &Outcome, native: &Outcome) -> Result<(), String> {
    if outcome.status != native.status || results(outcome) != results(native) {
        return Err(format!("not the results of a run without tools\n{}", outcome.report()));
    }
    for name in [TO_C, ON] {
        for (function, [fortran, _, recognized]) in seen(outcome, name) {
            let each = SENTINELS.iter().find(|(known, _)| *known == function).map_or(0, |(_, each)| *each);
            if recognized != each * fortran {
                let report = outcome.report();
                return Err(format!("{name}: {recognized} sentinels in {fortran} calls of {function}\n{report}"));
            }
        }
    }
    Ok(())
}

/// The native run is what all others are compared with: it has to be right itself.
fn native(job: &Job) -> Result<Outcome, String> {
    let outcome = job.run();
    outcome.expect(0, &["sentinels: in_place 3 3 3 3", "sentinels: done"].map(str::to_owned))?;
    Ok(outcome)
}

/// What failed in which way; the whole output only of the first.
fn verdict(failures: Vec<String>) -> Verdict {
    let Some(first) = failures.first() else { return Ok(()) };
    let heads = failures.iter().filter_map(|failure| failure.lines().next());
    Err(format!("{} failed\n{}\n\n{first}", failures.len(), heads.collect::<Vec<_>>().join("\n")).into())
}

/// One tool: under plain LD_PRELOAD, and alone in a stack. The tool sees as many calls in the stack as preloaded; through mpi_f08,
/// for which it has no wrappers, at least as many, since MPI's Fortran library is bound to the stack.
fn alone(mpi: Mpi, part: &str) -> Verdict {
    let mut failures = Vec::new();
    for way in ways(mpi, part, &WAYS)? {
        let job = job(mpi, part, way);
        let native = native(&job)?;
        for name in [TO_C, ON, C] {
            let library = tool(mpi, name);
            let preloaded = job.clone().preload(&library).run();
            right(&preloaded, &native).map_err(|reason| format!("LD_PRELOAD of {name}, {way:?}: {reason}"))?;
            let stacked = job.clone().stack(&[&library.display().to_string()]).run();
            let result = right(&stacked, &native).and_then(|()| {
                let (preloaded, calls) = (calls(&preloaded, name), calls(&stacked, name));
                let enough = |(function, times): (&String, &u64)| {
                    let now = calls.get(function).copied().unwrap_or_default();
                    if part == F08 { now >= *times } else { now == *times }
                };
                if preloaded.iter().all(enough) {
                    return Ok(());
                }
                Err(format!("the tool saw {calls:?}, preloaded {preloaded:?}\n{}", stacked.report()))
            });
            failures.extend(result.err().map(|reason| format!("{name}, {way:?}: {reason}")));
        }
    }
    verdict(failures)
}

/// Several layers: each sees every call once. A layer with Fortran wrappers only sees those that are still calls of Fortran.
fn stacks(mpi: Mpi, part: &str) -> Verdict {
    const STACKS: [&[&str]; 8] =
        [&[TO_C, TO_C], &[ON, ON], &[ON, TO_C], &[TO_C, ON], &[TO_C, C], &[C, TO_C], &[ON, C], &[C, ON]];
    let mut failures = Vec::new();
    for way in ways(mpi, part, &[["local", "alone"], ["local", "before"], ["global", "after"]])? {
        let job = job(mpi, part, way);
        let native = native(&job)?;
        for names in STACKS {
            let tools: Vec<String> = names.iter().map(|name| tool(mpi, name).display().to_string()).collect();
            let outcome = job.clone().stack(&tools.iter().map(String::as_str).collect::<Vec<_>>()).run();
            let result = right(&outcome, &native).and_then(|()| every_layer(&outcome, names, part));
            failures.extend(result.err().map(|reason| format!("{names:?}, {way:?}: {reason}")));
        }
    }
    verdict(failures)
}

fn every_layer(outcome: &Outcome, names: &[&str], part: &str) -> Result<(), String> {
    if names.contains(&C) {
        Tables::of(outcome).expect_calls(C, "MPI_Allreduce", 1).map_err(|failed| format!("counter: {failed:?}"))?;
    }
    for name in [TO_C, ON] {
        let sees = |index: &usize| name == TO_C || names[..*index].iter().all(|above| *above == ON);
        let layers = (0..names.len()).filter(|index| names[*index] == name).filter(sees).count() as u64;
        // No wrappers for mpi_f08: the C wrappers see its calls.
        if layers == 0 || (part == F08 && name == ON) {
            continue;
        }
        let calls = calls(outcome, name);
        if calls.get("Allreduce") != Some(&layers) || calls.get("Waitall") != Some(&layers) {
            return Err(format!("not {layers} calls of each function in {name}: {calls:?}\n{}", outcome.report()));
        }
    }
    Ok(())
}

/// `MPI_ARGV_NULL` and `MPI_ERRCODES_IGNORE`. Debian's MPICH 4.0.2 cannot start processes: there the tools answer the call
/// themselves when they have compared the addresses.
fn spawn(mpi: Mpi) -> Verdict {
    let child = program(mpi, "sentinels_child.c").display().to_string();
    let command = if mpi == Mpi::OpenMpi { child.as_str() } else { "answered" };
    let mut failures = Vec::new();
    for part in [MPIFH, USE_MPI] {
        let all = [["local", "alone"], ["local", "initialized"], ["local", "before"], ["global", "after"]];
        for way in ways(mpi, part, &all)? {
            let arguments = [part, way[0], way[1], command].map(str::to_owned);
            let job = Job::new(mpi, 1, &program_for(mpi, way)).args(&arguments);
            for name in [TO_C, ON] {
                let library = tool(mpi, name);
                let preloaded = job.clone().preload(&library).run();
                spawned(&preloaded, name, mpi).map_err(|reason| format!("LD_PRELOAD of {name}, {way:?}: {reason}"))?;
                let stacked = job.clone().stack(&[&library.display().to_string()]).run();
                let result = spawned(&stacked, name, mpi);
                failures.extend(result.err().map(|reason| format!("{name}, {part}, {way:?}: {reason}")));
            }
        }
    }
    verdict(failures)
}

fn spawned(outcome: &Outcome, name: &str, mpi: Mpi) -> Result<(), String> {
    let mut lines = vec!["sentinels: spawn T".to_owned(), "sentinels: done".to_owned()];
    if mpi == Mpi::OpenMpi {
        lines.push("sentinels_child: 0 arguments".to_owned());
    }
    outcome.expect(0, &lines)?;
    match seen(outcome, name).get("Comm_spawn") {
        Some([1, 0, 2] | [0, 1, 0]) => Ok(()),
        other => Err(format!("MPI_Comm_spawn: {other:?}\n{}", outcome.report())),
    }
}

/// A layer with C wrappers sees as many calls of MPI_Waitall as MPI's Fortran library makes in C. Open MPI's makes none where
/// the count is zero: its Fortran function returns at once, so under LD_PRELOAD no C wrapper could see the call either.
fn zero_count_waitall(mpi: Mpi) -> Verdict {
    let job = Job::new(mpi, 1, &program(mpi, "zero_count.f90"));
    let native = job.clone().preload(&compile::companion(mpi, "zero_count_reaches_c.c")).run();
    let expected = if mpi == Mpi::OpenMpi { 1 } else { 3 };
    native.expect(0, &["zero_count: done".to_owned(), format!("zero_count: {expected} in C")])?;
    let stacked = job.stack(&[&tool(mpi, "fortran_counter_c").display().to_string()]).run();
    stacked.expect(0, &["zero_count: done".to_owned()])?;
    if stacked.count(&format!("fortran_counter Waitall: c={expected} ")) == 1 {
        return Ok(());
    }
    Err(format!("not {expected} calls in C\n{}", stacked.report()).into())
}
