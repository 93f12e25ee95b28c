//! Every PMPI tool of `legacy-tools`, on every MPI: preloaded without us, alone in a stack, twice in one, below and above
//! another tool. What it prints under `LD_PRELOAD` is what it has to print.

use std::path::Path;

use libtest_mimic::Failed;
use qmpi_tests::{Job, Mpi, Outcome, Source, Trial, compile, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for mpi in Mpi::ALL {
        for source in Source::all("legacy-tools") {
            if source.kind == "pmpi"
                && source.runs_on(mpi)
                && !source.is_companion
                && source.loads
                && !source.programs.is_empty()
            {
                for program in source.programs.clone() {
                    let source = source.clone();
                    let name = format!("{}::{}::{program}", mpi.name(), source.name);
                    trials.push(Trial::test(name, move || {
                        mpi.require();
                        Comparison::new(mpi, &source, &program).run()
                    }));
                }
            }
        }
    }
    trials
}

/// One tool at work on one program.
struct Comparison {
    mpi: Mpi,
    source: Source,
    program: Source,
    tool: String,
    job: Job,
}

impl Comparison {
    fn new(mpi: Mpi, source: &Source, file: &str) -> Comparison {
        let tool = tool(mpi, &source.name).display().to_string();
        let built = program(mpi, file);
        let program = Source::read(&qmpi_tests::product::root().join("tests/programs").join(file));
        let mut job = Job::new(mpi, program.ranks, &built);
        if let Some(case) = program.cases_on(mpi).next() {
            job = job.args(&case.args);
        }
        for (name, value) in &source.env {
            job = job.env(name, value.as_str());
        }
        Comparison { mpi, source: source.clone(), program, tool, job }
    }

    fn run(&self) -> Result<(), Failed> {
        let plain = self.job.clone().preload(Path::new(&self.tool)).run();
        let verdicts: Vec<&str> = self.source.cases.iter().flat_map(|case| &case.stdout).map(String::as_str).collect();
        self.check("preloaded, without us", &plain, 1, &self.exactly(&verdicts))?;
        let alone = self.job.clone().stack(&[&self.tool]).run();
        let bridged: Vec<&str> = self.source.bridged.iter().map(String::as_str).collect();
        if bridged.is_empty() {
            self.check("alone", &alone, 1, &self.exactly(&verdicts))?;
            if normalized(&plain) != normalized(&alone) {
                let (plain, alone) = (plain.report(), alone.report());
                return Err(format!("alone: prints something else than preloaded\n{plain}\n{alone}").into());
            }
        } else {
            self.check("alone", &alone, 1, &bridged)?;
        }
        // How many calls an instance sees depends on what stands above it, so verdicts count without numbers.
        let roughly: Vec<&str> = verdicts.iter().map(|line| without_numbers(line)).collect();
        if self.source.twice {
            let twice = self.job.clone().stack(&[&self.tool, &self.tool]).run();
            self.check("twice", &twice, 2, &roughly)?;
        }
        let other = compile::tool(self.mpi, "counter").display().to_string();
        let job = self.job.clone().env("COUNTER", "file=/dev/null");
        self.check("below another tool", &job.clone().stack(&[&other, &self.tool]).run(), 1, &roughly)?;
        if self.source.twice {
            self.check("above another tool", &job.stack(&[&self.tool, &other]).run(), 1, &roughly)?;
        }
        Ok(())
    }

    /// The numbers in a verdict hold for the tool's first program.
    fn exactly<'a>(&self, verdicts: &[&'a str]) -> Vec<&'a str> {
        let first = self.source.programs.first().map(String::as_str)
            == self.program.path.file_name().and_then(|name| name.to_str());
        verdicts.iter().map(|line| if first { line } else { without_numbers(line) }).collect()
    }

    /// The program's lines must be there, and each verdict of the tool as often as there are instances.
    fn check(&self, mode: &str, outcome: &Outcome, instances: usize, verdicts: &[&str]) -> Result<(), Failed> {
        let expected = self.program.cases_on(self.mpi).next().map(|case| case.stdout.clone()).unwrap_or_default();
        outcome.expect(self.program.exit_status, &expected).map_err(|reason| format!("{mode}: {reason}"))?;
        for verdict in verdicts {
            let found = outcome.count(verdict);
            if found != instances {
                let report = outcome.report();
                return Err(
                    format!("{mode}: {verdict:?} stands {found} times on stdout, not {instances}\n{report}").into()
                );
            }
        }
        Ok(())
    }
}

/// "tool NAME: ok calls=3" up to "ok".
fn without_numbers(verdict: &str) -> &str {
    verdict.split_inclusive(": ok").next().unwrap_or(verdict)
}

/// Stdout without what differs from run to run.
fn normalized(outcome: &Outcome) -> Vec<String> {
    let masked = |line: &str| {
        line.split(' ')
            .map(|word| if is_time(word) { "TIME" } else { word })
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    };
    outcome.lines().into_iter().map(masked).collect()
}

/// A number of seconds as the counter prints it: six digits after the point.
fn is_time(word: &str) -> bool {
    word.split_once('.')
        .is_some_and(|(_, digits)| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
