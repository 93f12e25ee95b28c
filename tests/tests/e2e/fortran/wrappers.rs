//! Fortran programs under tools with C wrappers, with Fortran wrappers, written in Fortran, and QMPI tools, alone and above each
//! other: every layer sees every call once, in the language of the application as long as only layers with Fortran wrappers
//! are above; and the program's results are right.
//!
//! That the programs print the same without us, with an empty stack and with two tools is tested by `programs.rs`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Tables, Trial, Verdict, cells, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("c_wrappers", &Mpi::ALL, c_wrappers),
        ("c_wrappers_preloaded", &Mpi::ALL, c_wrappers_preloaded),
        ("c_wrappers_count_bytes", &Mpi::ALL, c_wrappers_count_bytes),
        ("fortran_wrappers_only", &Mpi::ALL, |mpi| alone(mpi, Kind::FortranOnly)),
        ("fortran_and_c_wrappers", &Mpi::ALL, |mpi| alone(mpi, Kind::Both)),
        ("tool_in_fortran", &Mpi::ALL, |mpi| alone(mpi, Kind::InFortran)),
        ("qmpi_tool", &Mpi::ALL, qmpi_tool),
        ("qmpi_calling_address", &Mpi::ALL, qmpi_calling_address),
        ("as_under_ld_preload", &Mpi::ALL, as_under_ld_preload),
        ("preloaded_beside_a_stack", &Mpi::ALL, preloaded_beside_a_stack),
        ("stacks_mpifh", &Mpi::ALL, |mpi| stacks(mpi, 0)),
        ("stacks_use_mpi", &Mpi::ALL, |mpi| stacks(mpi, 1)),
        ("stacks_f08", &Mpi::ALL, |mpi| stacks(mpi, 2)),
        ("other_names_are_not_in_the_way", &Mpi::ALL, other_names_are_not_in_the_way),
        ("call_sites_in_callbacks", &Mpi::ALL, call_sites_in_callbacks),
        ("environment_of_a_tool_in_fortran", &Mpi::ALL, environment_of_a_tool_in_fortran),
        ("past_c_wrappers", &Mpi::ALL, past_c_wrappers),
        ("opened_late", &Mpi::ALL, opened_late),
        ("profiling_names", &Mpi::ALL, profiling_names),
    ])
}

/// The programs, what docs/matrix.md calls their language, and the column of the report that their calls are in.
const PROGRAMS: [(&str, &str, usize); 3] = [
    ("fortran_all.f90", "Fortran, mpif.h", FORTRAN),
    ("fortran_all_use_mpi.f90", "Fortran, use mpi", FORTRAN),
    ("fortran_all_f08.f90", "Fortran, use mpi_f08", F08),
];

/// Columns of the report.
const C: usize = 0;
const FORTRAN: usize = 1;
const F08: usize = 2;
const APP: usize = 3;

/// What each rank of the programs calls, and how often; MPI_Get_count in callbacks only.
const CALLS: [(&str, u64); 15] = [
    ("Init", 1),
    ("Comm_rank", 1),
    ("Send", 2),
    ("Recv", 2),
    ("Isend", 2),
    ("Irecv", 2),
    ("Waitall", 2),
    ("Bcast", 1),
    ("Allreduce", 3),
    ("Get_count", 5),
    ("Comm_dup", 1),
    ("Comm_free", 3),
    ("Comm_set_name", 1),
    ("Type_commit", 3),
    ("Finalize", 1),
];

/// A kind of layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// C wrappers.
    C,
    /// Fortran wrappers, in C.
    FortranOnly,
    /// C and Fortran wrappers.
    Both,
    /// Wrappers in Fortran, for mpif.h and the module mpi; not for all functions.
    InFortran,
    /// A native QMPI tool.
    Qmpi,
}

impl Kind {
    fn file(self, mpi: Mpi) -> PathBuf {
        tool(
            mpi,
            match self {
                Kind::C => "fortran_counter_c",
                Kind::FortranOnly => "fortran_counter_f",
                Kind::Both => "fortran_counter",
                Kind::InFortran => "fortran_tool",
                Kind::Qmpi => "qmpi_counter",
            },
        )
    }

    /// Does it intercept the function, when it is called in the language of this column?
    fn intercepts(self, function: &str, column: usize) -> bool {
        match self {
            Kind::C | Kind::Both => true,
            Kind::FortranOnly => column != C,
            Kind::InFortran => {
                column == FORTRAN
                    && !["Init", "Comm_rank", "Comm_free", "Comm_set_name", "Type_commit"].contains(&function)
            }
            Kind::Qmpi => !["Comm_rank", "Type_commit"].contains(&function),
        }
    }

    /// The functions in the table of the QMPI tool; it watches MPI_Comm_set_name without counting.
    fn counted() -> impl Iterator<Item = &'static (&'static str, u64)> {
        CALLS.iter().filter(|(function, _)| Kind::Qmpi.intercepts(function, C) && *function != "Comm_set_name")
    }

    /// In which language it goes on with a call in the language of this column.
    fn goes_on(self, function: &str, column: usize) -> usize {
        match self {
            Kind::C => C,
            Kind::Qmpi if self.intercepts(function, column) => C,
            _ => column,
        }
    }
}

/// Function → calls in C, in Fortran, through mpi_f08, and from the application.
type Report = BTreeMap<String, [u64; 4]>;

/// The reports of a job, by label.
fn reports(outcome: &Outcome) -> BTreeMap<String, Report> {
    let mut reports: BTreeMap<String, Report> = BTreeMap::new();
    for line in outcome.stdout.lines() {
        let Some((head, numbers)) = line.split_once(": c=") else { continue };
        let Some((label, function)) = head.split_once(' ') else { continue };
        let numbers: Vec<u64> = numbers.split([' ', '=']).filter_map(|word| word.parse().ok()).collect();
        if let Ok(numbers) = numbers.try_into() {
            reports.entry(label.to_owned()).or_default().insert(function.to_owned(), numbers);
        }
    }
    reports
}

/// Runs a program under a stack in which layer number k has the label `lk`.
fn run(mpi: Mpi, file: &str, kinds: &[Kind]) -> Result<Outcome, Failed> {
    run_with(mpi, file, kinds, &[])
}

/// The same with `fortran = "past"` for the layers of these numbers.
fn run_with(mpi: Mpi, file: &str, kinds: &[Kind], past: &[usize]) -> Result<Outcome, Failed> {
    let directory = tempfile::tempdir()?;
    let name = |index: usize| if kinds[index] == Kind::Qmpi { "counter".to_owned() } else { format!("l{index}") };
    let names: Vec<String> = (0..kinds.len()).map(name).collect();
    let mut text = format!("stack = {names:?}\n");
    for (index, (name, kind)) in names.iter().zip(kinds).enumerate() {
        writeln!(text, "[tool.{name}]\npath = {:?}", kind.file(mpi))?;
        if past.contains(&index) {
            writeln!(text, "fortran = \"past\"")?;
        }
        if *kind != Kind::Qmpi {
            writeln!(text, "env = {{ FORTRAN_COUNTER = \"l{index}\", FORTRAN_TOOL = \"l{index}\" }}")?;
        }
    }
    let path = directory.path().join("qmpi.toml");
    std::fs::write(&path, text)?;
    let outcome = Job::new(mpi, 2, &program(mpi, file)).config(&path).run();
    right(&outcome)?;
    Ok(outcome)
}

/// `fortran = "past"`: no call of the program comes to C wrappers, the layers below see what they see without that one, and Fortran wrappers
/// see theirs. What a layer above passes on in C is C's.
fn past_c_wrappers(mpi: Mpi) -> Verdict {
    for (file, _, column) in PROGRAMS {
        let outcome = run_with(mpi, file, &[Kind::C], &[0])?;
        if !reports(&outcome).is_empty() {
            return Err(outcome.report().into());
        }
        let outcome = run_with(mpi, file, &[Kind::C, Kind::C], &[0])?;
        if reports(&outcome).contains_key("l0") {
            return Err(outcome.report().into());
        }
        check(&outcome, &[Kind::FortranOnly, Kind::C], 1, column)?;
        let outcome = run_with(mpi, file, &[Kind::C, Kind::C], &[1])?;
        check(&outcome, &[Kind::C, Kind::C], 0, column)?;
        check(&outcome, &[Kind::C, Kind::C], 1, column)?;
        let kinds = [Kind::Both, Kind::C, Kind::Both];
        let outcome = run_with(mpi, file, &kinds, &[0, 1])?;
        check(&outcome, &kinds[..1], 0, column)?;
        // The layer between them is not there for these calls.
        check(&outcome, &[Kind::Both, Kind::FortranOnly, Kind::Both], 2, column)?;
    }
    Ok(())
}

/// The program's own checks, which know the sentinels by what they do.
fn right(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &["fortran_all: 0 wrong", "fortran_all: callbacks 5", "fortran_all: done"].map(str::to_owned))?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Compares the report of layer `index`.
fn check(outcome: &Outcome, kinds: &[Kind], index: usize, column: usize) -> Verdict {
    // Cannot be told from others of its kind when the label does not reach it: see `environment_of_a_tool_in_fortran`.
    let reports = reports(outcome);
    let fallback = if kinds[index] == Kind::InFortran { "fortran_tool" } else { "fortran_counter" };
    let report = reports.get(&format!("l{index}")).or_else(|| reports.get(fallback));
    let (mut seen, mut expected) = (Vec::new(), Vec::new());
    for (function, calls) in CALLS {
        // The language in which the call leaves the layers above.
        let language = kinds[..index].iter().fold(column, |language, kind| kind.goes_on(function, language));
        let mut row = [0; 3];
        if kinds[index].intercepts(function, language) {
            row[if kinds[index] == Kind::C { C } else { language }] = calls;
        }
        let mut got = report.and_then(|report| report.get(function)).copied().unwrap_or_default();
        if function == "Comm_rank" {
            // Those of layers further outside, for their reports.
            let total: u64 = got[..3].iter().sum();
            let most = calls + index as u64;
            got = if kinds[index].intercepts(function, language) && (calls..=most).contains(&total) {
                [row[0], row[1], row[2], 0]
            } else {
                got
            };
        }
        seen.push((function, [got[0], got[1], got[2]]));
        expected.push((function, row));
    }
    // A layer that no MPI_Finalize reaches reports nothing.
    if seen == expected {
        return Ok(());
    }
    let wrong: Vec<_> = seen.iter().zip(&expected).filter(|(seen, expected)| seen != expected).collect();
    Err(format!("{kinds:?}: layer {index}: (seen, expected) {wrong:?}\n{}", outcome.report()).into())
}

/// Fails unless the calls of the outermost layer return into the application; callbacks have a test of their own.
fn check_sites(outcome: &Outcome, kind: Kind, column: usize) -> Verdict {
    for (label, report) in reports(outcome) {
        for (function, calls) in CALLS.iter().filter(|(function, _)| *function != "Get_count") {
            let numbers = report.get(*function).copied().unwrap_or_default();
            if kind.intercepts(function, column) && numbers[APP] != *calls {
                let of_app = numbers[APP];
                return Err(format!(
                    "{label}: {of_app} of {calls} {function} are from the application\n{}",
                    outcome.report()
                )
                .into());
            }
        }
    }
    Ok(())
}

fn c_wrappers(mpi: Mpi) -> Verdict {
    for (file, language, column) in PROGRAMS {
        let outcome = run(mpi, file, &[Kind::C])?;
        check(&outcome, &[Kind::C], 0, column)?;
        cells::note("fortran", mpi, language, "PMPI tool, C wrappers", "all calls, once");
    }
    Ok(())
}

/// Under `LD_PRELOAD` C wrappers see nothing on Open MPI; on MPICH all calls, of `use mpi_f08` those of some functions. On rank 0.
fn c_wrappers_preloaded(mpi: Mpi) -> Verdict {
    for (file, _, column) in PROGRAMS {
        let outcome = Job::new(mpi, 2, &program(mpi, file)).preload(&tool(mpi, "order")).run();
        right(&outcome)?;
        let seen = ["enter order MPI_Init", "enter order MPI_Send"]
            .map(|call| outcome.stderr.lines().filter(|line| *line == call).count());
        let expected = match (mpi, column) {
            (Mpi::OpenMpi, _) => [0, 0],
            (Mpi::Mpich, F08) => [0, 2],
            (Mpi::Mpich, _) => [1, 2],
        };
        if seen != expected {
            return Err(format!("{file}: {seen:?} instead of {expected:?}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// What the well-known counter says, handles and sentinels converted: calls and bytes of both ranks.
fn c_wrappers_count_bytes(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter").display().to_string();
    for (file, _, _) in PROGRAMS {
        let outcome = Job::new(mpi, 2, &program(mpi, file)).stack(&[&counter]).run();
        right(&outcome)?;
        // Nothing is sent in place.
        Tables::of(&outcome).expect_all(
            "counter",
            &[
                ("MPI_Init", 2, 0),
                ("MPI_Finalize", 2, 0),
                ("MPI_Send", 4, 16),
                ("MPI_Recv", 4, 16),
                ("MPI_Isend", 4, 32),
                ("MPI_Irecv", 4, 32),
                ("MPI_Waitall", 4, 0),
                ("MPI_Get_count", 10, 0),
                ("MPI_Barrier", 2, 0),
                ("MPI_Bcast", 2, 8),
                ("MPI_Allreduce", 6, 32),
                ("MPI_Comm_dup", 2, 0),
                ("MPI_Comm_split", 2, 0),
                ("MPI_Comm_free", 6, 0),
            ],
        )?;
    }
    Ok(())
}

fn alone(mpi: Mpi, kind: Kind) -> Verdict {
    for (file, language, column) in PROGRAMS {
        let outcome = run(mpi, file, &[kind])?;
        check(&outcome, &[kind], 0, column)?;
        check_sites(&outcome, kind, column)?;
        if kind == Kind::InFortran && column == FORTRAN && !outcome.stdout.contains(": in_place=2 ignored=1") {
            return Err(format!("not the program's sentinels\n{}", outcome.report()).into());
        }
        let column = match kind {
            Kind::InFortran => "tool in Fortran",
            Kind::FortranOnly => "PMPI tool, Fortran wrappers",
            _ => "PMPI tool, both",
        };
        let seen = if reports(&outcome).is_empty() { "nothing (1)" } else { "directly, call sites right" };
        cells::note("fortran", mpi, language, column, seen);
    }
    Ok(())
}

fn qmpi_tool(mpi: Mpi) -> Verdict {
    for (file, language, _) in PROGRAMS {
        let outcome = run(mpi, file, &[Kind::Qmpi])?;
        let tables = Tables::of(&outcome);
        for (function, calls) in Kind::counted() {
            tables.expect_calls("counter", &format!("MPI_{function}"), 2 * calls)?;
        }
        cells::note("fortran", mpi, language, "QMPI tool", "all calls, once; calling address right");
    }
    Ok(())
}

fn qmpi_calling_address(mpi: Mpi) -> Verdict {
    let tool = compile::companion(mpi, "qmpi_where.c").display().to_string();
    for (file, _, _) in PROGRAMS {
        let outcome = Job::new(mpi, 2, &program(mpi, file)).stack(&[&format!("where={tool}")]).run();
        right(&outcome)?;
        let name = file.trim_end_matches(".f90");
        for function in ["Init", "Comm_rank", "Send", "Recv", "Finalize"] {
            outcome.expect(0, &[format!("where MPI_{function} {name}")])?;
        }
    }
    Ok(())
}

/// Tools with Fortran wrappers only say the same as without us.
fn as_under_ld_preload(mpi: Mpi) -> Verdict {
    for kind in [Kind::FortranOnly, Kind::InFortran] {
        for (file, _, column) in PROGRAMS {
            let plain = Job::new(mpi, 2, &program(mpi, file)).preload(&kind.file(mpi)).run();
            right(&plain)?;
            check(&plain, &[kind], 0, column)?;
            check_sites(&plain, kind, column)?;
        }
    }
    Ok(())
}

/// A preloaded tool sees of a Fortran program what it sees without us, whatever is in the stack, and what it calls enters that.
fn preloaded_beside_a_stack(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter").display().to_string();
    // On MPICH a tool of both kinds sees a call twice without us, and once with us.
    let kinds = [Kind::C, Kind::FortranOnly, Kind::InFortran, Kind::Both];
    for kind in kinds.into_iter().filter(|kind| *kind != Kind::Both || mpi == Mpi::OpenMpi) {
        let preload = kind.file(mpi).display().to_string();
        for (file, _, _) in PROGRAMS {
            let job = Job::new(mpi, 2, &program(mpi, file));
            let plain = job.clone().preload(&kind.file(mpi)).run();
            right(&plain)?;
            for tools in [&[] as &[&str], &[&counter]] {
                let outcome = job.clone().env("LD_PRELOAD", preload.as_str()).stack(tools).run();
                right(&outcome)?;
                if calls_seen(&outcome) != calls_seen(&plain) {
                    let (plain, outcome) = (plain.report(), outcome.report());
                    return Err(format!("{kind:?}, {file}, {tools:?}: without us\n{plain}\nwith us\n{outcome}").into());
                }
                let finalize = outcome.stdout.lines().any(|line| line.trim_start().starts_with("MPI_Finalize   "));
                if finalize == tools.is_empty() {
                    return Err(format!("{kind:?}, {file}: the stack\n{}", outcome.report()).into());
                }
            }
        }
    }
    Ok(())
}

/// The reports without the numbers of calls from the application: what is between may be ours.
fn calls_seen(outcome: &Outcome) -> BTreeMap<String, BTreeMap<String, [u64; 3]>> {
    let without_app = |report: Report| report.into_iter().map(|(name, [c, fortran, f08, _])| (name, [c, fortran, f08]));
    reports(outcome).into_iter().map(|(label, report)| (label, without_app(report).collect())).collect()
}

/// Every layer sees every call once. `FortranOnly` and `InFortran` stand where a call is still one of Fortran's: below C wrappers
/// they see nothing, as no layer makes a Fortran call of one in C.
fn stacks(mpi: Mpi, which: usize) -> Verdict {
    use Kind::{Both, C, FortranOnly, InFortran, Qmpi};
    let (file, language, column) = PROGRAMS[which];
    let all: &[&[Kind]] = &[
        &[C, Both],
        &[Both, C],
        &[Both, Both],
        &[C, Both, C],
        &[FortranOnly, FortranOnly],
        &[FortranOnly, Both, C],
        &[InFortran, C],
        &[InFortran, Both, C],
        &[Both, InFortran],
        &[Qmpi, Both],
        &[Both, Qmpi],
        &[InFortran, Qmpi, Both],
        &[C, FortranOnly],
    ];
    let mut failures = Vec::new();
    for kinds in all {
        let outcome = run(mpi, file, kinds)?;
        for (index, kind) in kinds.iter().enumerate() {
            let result =
                if *kind == Qmpi { check_table(&outcome, kinds) } else { check(&outcome, kinds, index, column) };
            failures.extend(result.err().map(|failed| failed.message().unwrap_or_default().to_owned()));
        }
    }
    if failures.is_empty() {
        cells::note("fortran", mpi, language, "stacks of several kinds", "every layer every call, once (2)");
        return Ok(());
    }
    cells::note("fortran", mpi, language, "stacks of several kinds", "not in every order (3)");
    Err(failures.join("\n\n").into())
}

/// The QMPI tool's table: both ranks.
fn check_table(outcome: &Outcome, kinds: &[Kind]) -> Verdict {
    let tables = Tables::of(outcome);
    for (function, calls) in Kind::counted() {
        tables
            .expect_calls("counter", &format!("MPI_{function}"), 2 * calls)
            .map_err(|reason| format!("{kinds:?}: {reason}"))?;
    }
    Ok(())
}

/// A layer with wrappers for mpif.h does not intercept what goes through mpi_f08: the one below gets that directly.
fn other_names_are_not_in_the_way(mpi: Mpi) -> Verdict {
    let (file, _, column) = PROGRAMS[2];
    let kinds = [Kind::InFortran, Kind::FortranOnly];
    let outcome = run(mpi, file, &kinds)?;
    check(&outcome, &kinds, 1, column)?;
    check_sites(&outcome, Kind::FortranOnly, column)
}

/// The application's callback runs inside of an MPI call; what it calls returns into it all the same.
fn call_sites_in_callbacks(mpi: Mpi) -> Verdict {
    for (file, _, _) in PROGRAMS {
        let outcome = run(mpi, file, &[Kind::FortranOnly])?;
        let calls = reports(&outcome).get("l0").and_then(|report| report.get("Get_count")).copied().unwrap_or_default();
        if calls[APP] != 5 {
            return Err(
                format!("{file}: {} of 5 calls are from the application\n{}", calls[APP], outcome.report()).into()
            );
        }
    }
    Ok(())
}

/// `get_environment_variable` in a tool: a setting of this instance.
fn environment_of_a_tool_in_fortran(mpi: Mpi) -> Verdict {
    let outcome = run(mpi, PROGRAMS[0].0, &[Kind::InFortran, Kind::InFortran])?;
    let reports = reports(&outcome);
    if ["l0", "l1"].iter().all(|label| reports.contains_key(*label)) {
        return Ok(());
    }
    Err(format!("reports of {:?}\n{}", reports.keys().collect::<Vec<_>>(), outcome.report()).into())
}

/// A library in Fortran that the program opens: the first with MPI, or after one in C that initialized it. Two layers, with C
/// and with Fortran wrappers, see its calls.
fn opened_late(mpi: Mpi) -> Verdict {
    let program = program(mpi, "late_fortran.c");
    let tools = ["fortran_counter", "counter"].map(|name| tool(mpi, name).display().to_string());
    for when in ["alone", "second"] {
        let job = Job::new(mpi, 2, &program).args(&[when.to_owned()]);
        let outcome = job.stack(&[&tools[0], &tools[1]]).run();
        outcome.expect(0, &["late_fortran: sum 3".to_owned()]).map_err(|reason| format!("{when}: {reason}"))?;
        let tables = Tables::of(&outcome);
        for function in ["MPI_Init", "MPI_Barrier", "MPI_Allreduce", "MPI_Finalize"] {
            tables.expect_calls("counter", function, 2).map_err(|reason| format!("{when}: {reason}"))?;
        }
        // The Fortran wrapper gets the call, also where the tool was loaded before there was a Fortran library.
        let expected = [0, 1, 0];
        let report = reports(&outcome).remove("fortran_counter").unwrap_or_default();
        if report.get("Allreduce").is_none_or(|row| row[..3] != expected) {
            return Err(format!("{when}: not {expected:?} calls of MPI_Allreduce\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// A tool that defines `PMPI_f` gets a Fortran program's calls of f under that name as it does when it is preloaded, and under the name
/// `MPI_f` as well.
fn profiling_names(mpi: Mpi) -> Verdict {
    let library = tool(mpi, "defines_pmpi");
    for file in ["fortran_mpifh.f90", "fortran_f08.f90"] {
        let job = Job::new(mpi, 2, &program(mpi, file));
        let plain = job.clone().preload(&library).run();
        let profiling = |outcome: &Outcome| {
            let line = outcome.stdout.lines().find(|line| line.starts_with("tool defines_pmpi: ok "))?;
            Some(line.split_once(" profiling=")?.1.to_owned())
        };
        let expected = profiling(&plain).ok_or_else(|| format!("LD_PRELOAD: {}", plain.report()))?;
        let outcome = job.stack(&[&library.display().to_string()]).run();
        outcome.expect(0, &[format!("tool defines_pmpi: ok calls=3 profiling={expected}")])?;
    }
    Ok(())
}
