//! Tools whose files were damaged at random places, through the real runtime: never worse than under plain `LD_PRELOAD`
//! (`verdict.rs` says what that is).
//!
//! `QMPI_TEST_MUTANTS` is how many there are, half of them for each MPI; `QMPI_TEST_SEED` another series of them, and
//! `QMPI_TEST_MUTANT` one mutant of the series by its number. A mutant that fails stays in `target/tests/mutants`.

mod allowed;
mod damage;
mod mutation;
mod parts;
mod random;
mod sample;
mod verdict;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use qmpi_tests::against::{Failures, number};
use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, product};

use mutation::Mutant;
use random::Random;
use sample::Sample;
use verdict::{Class, End, Run, Sound};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("known_damage", &Mpi::ALL, known_damage), ("never_worse", &Mpi::ALL, never_worse)])
}

/// Of both MPIs together.
const MUTANTS: usize = 60;

/// One mutant in so many is asked for by `qmpi run`, which looks at it as well; the others by variables.
const BY_COMMAND: usize = 8;

/// Seconds after which a process hangs.
const PATIENCE: u32 = 20;

/// Address space, processor time, no core files. A process of Open MPI with a stack takes less than 1 GiB.
const LIMITS: [&str; 4] = ["prlimit", "--as=4294967296", "--cpu=10", "--core=0"];

/// By variables and by `qmpi run`; nothing is allowed here.
fn known_damage(mpi: Mpi) -> Verdict {
    let series = Series::new(mpi, "known", 0);
    let mut failures = Failures::default();
    for damage in damage::ALL {
        let sample = series.samples.iter().find(|(sample, _)| sample.name == damage.tool).expect("a sample");
        let (sample, sound) = (&sample.0, series.sound(sample));
        let mut mutant = Mutant { bytes: sample.bytes.clone(), changes: Vec::new() };
        (damage.apply)(&mut mutant, sample);
        assert!(mutant.bytes != sample.bytes, "{}: nothing is changed", damage.name);
        let file = series.directory.join(format!("{}.so", damage.name.replace([' ', ','], "_")));
        std::fs::write(&file, &mutant.bytes)?;
        let plain = series.plain(sample, &file);
        for by_command in [false, true] {
            let stacked = series.stacked(sample, &file, by_command);
            let result = match verdict::judge(sample.right, sound, &plain, &stacked) {
                Ok(Class::Equal) => Ok(()),
                Ok(class) => Err(format!("{} instead of: {}", class.text(), Class::Equal.text())),
                Err(reason) => Err(reason),
            };
            let (stacked, plain) = (stacked.outcome.report(), plain.outcome.report());
            failures.note(result.map_err(|reason| {
                format!("{} in {}: {reason}\n{stacked}\nwithout libqmpi\n{plain}", damage.name, damage.tool)
            }));
        }
    }
    failures.verdict()
}

fn never_worse(mpi: Mpi) -> Verdict {
    let seed = number("QMPI_TEST_SEED", 1) as u64;
    let only = number("QMPI_TEST_MUTANT", usize::MAX);
    let count = number("QMPI_TEST_MUTANTS", MUTANTS).div_ceil(2);
    let indexes: Vec<usize> = if only == usize::MAX { (0..count).collect() } else { vec![only] };
    let series = Series::new(mpi, "random", seed);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(index) = indexes.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = series.check(*index);
                    results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(result);
                }
            });
        }
    });
    let results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if results.len() != indexes.len() {
        return Err("not all mutants were tried".into());
    }
    let mut counts: BTreeMap<Class, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for result in results {
        match result {
            Ok(class) => *counts.entry(class).or_default() += 1,
            Err(failure) => failures.push(failure),
        }
    }
    println!("{}: {} mutants, QMPI_TEST_SEED={seed}", mpi.name(), indexes.len());
    for class in Class::ALL {
        println!("{:6} {}", counts.get(&class).copied().unwrap_or(0), class.text());
    }
    if only == usize::MAX && counts.get(&Class::Equal).copied().unwrap_or(0) * 10 < count {
        return Err("too few of the mutants work at all: this says nothing".into());
    }
    let by_chance = counts.get(&Class::Chance).copied().unwrap_or(0);
    if by_chance > 3 + count / 50 {
        return Err(format!("{by_chance} mutants by chance: too many to be that").into());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n\n").into()) }
}

/// A mutant, and what came of it.
struct Tried<'a> {
    sample: &'a Sample,
    sound: &'a Sound,
    mutant: &'a Mutant,
    file: &'a Path,
    by_command: bool,
    plain: &'a Run,
    stacked: &'a Run,
}

/// The mutants of one seed on one MPI.
struct Series {
    mpi: Mpi,
    seed: u64,
    samples: Vec<(Sample, OnceLock<Sound>)>,
    directory: PathBuf,
    /// Libraries of large variables, between which an object lies at another address.
    neighbours: [PathBuf; 2],
}

impl Series {
    fn new(mpi: Mpi, name: &str, seed: u64) -> Series {
        let directory = product::target().join("tests/mutants").join(mpi.name()).join(name);
        std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        // As large as the memory that a damaged address or index is likely to lead to.
        let neighbours = [0, 0x5a].map(|byte| {
            let source = directory.join(format!("neighbour_{byte}.c"));
            let text = format!(
                "//# needs-mpi: no\nchar neighbour_{byte}[1 << 20] = {{ [0 ... (1 << 20) - 1] = {byte}, [1] = 1 }};\n"
            );
            qmpi_tests::artifact::write_source(&source, text.as_bytes());
            compile::library(mpi, &source)
        });
        let samples = Sample::all(mpi).into_iter().map(|sample| (sample, OnceLock::new())).collect();
        Series { mpi, seed, samples, directory, neighbours }
    }

    /// What comes of a sound tool.
    fn sound<'a>(&self, (sample, sound): &'a (Sample, OnceLock<Sound>)) -> &'a Sound {
        sound.get_or_init(|| {
            let (plain, stacked) = (self.plain(sample, &sample.file), self.stacked(sample, &sample.file, false));
            let sound = Sound { plain: plain.lines(), stacked: stacked.lines() };
            let class = verdict::judge(sample.right, &sound, &plain, &stacked);
            assert!(class == Ok(Class::Equal), "{}: {class:?}\n{}", sample.name, stacked.outcome.report());
            sound
        })
    }

    fn check(&self, index: usize) -> Result<Class, String> {
        let mut random = Random::new(self.seed, index);
        let sample = random.of(&self.samples);
        let (sample, sound) = (&sample.0, self.sound(sample));
        let mutant = Mutant::of(&sample.bytes, &sample.parts, &mut random);
        let file = self.directory.join(format!("{}-{index}.so", self.seed));
        std::fs::write(&file, &mutant.bytes).map_err(|error| format!("{}: {error}", file.display()))?;
        let by_command = index.is_multiple_of(BY_COMMAND);
        let plain = self.plain(sample, &file);
        let stacked = self.stacked(sample, &file, by_command);
        let result = verdict::judge(sample.right, sound, &plain, &stacked);
        let tried = Tried { sample, sound, mutant: &mutant, file: &file, by_command, plain: &plain, stacked: &stacked };
        let result = result.or_else(|reason| self.again(&tried).ok_or(reason));
        match result {
            Ok(class) => {
                let _ = std::fs::remove_file(&file);
                Ok(class)
            }
            Err(reason) => Err(format!(
                "{reason}: mutant {index} of QMPI_TEST_SEED={}, made of {}, is {}\n{}\n{}\nwithout libqmpi\n{}",
                self.seed,
                sample.name,
                file.display(),
                mutant.changes.join("\n"),
                stacked.outcome.report(),
                plain.outcome.report()
            )),
        }
    }

    /// A second look at one that seems to be worse: may it be (`allowed.rs`)?
    fn again(&self, tried: &Tried<'_>) -> Option<Class> {
        let Tried { sample, sound, mutant, file, by_command, plain, stacked } = tried;
        let right = sample.right;
        if allowed::is_no_tool(right, plain, stacked) {
            return Some(Class::NoTool);
        }
        if !by_command && allowed::lacks_static_tls(stacked) {
            let by_command = self.stacked(sample, file, true);
            return verdict::judge(right, sound, plain, &by_command).ok().map(|_| Class::StaticTls);
        }
        if allowed::reads_beyond_versions(&sample.bytes, &mutant.bytes, &sample.parts) {
            return Some(Class::BeyondVersions);
        }
        if allowed::sees_fortran_in_c(sample, sound, plain, stacked) {
            return Some(Class::FortranToC);
        }
        let died = stacked.end(right) == End::Badly;
        if died && allowed::leads_behind(&sample.bytes, &mutant.bytes, &sample.parts) {
            return Some(Class::BehindTool);
        }
        // Twice without libqmpi, between other libraries.
        let [one, other] = &self.neighbours;
        let between = [[one, other], [other, one]].map(|[one, other]| {
            let run = self.run(self.job(sample).preload(one).preload(file).preload(other));
            (run.end(right), run.lines())
        });
        let reference = (plain.end(right), plain.lines());
        if between.iter().any(|between| *between != reference) {
            return Some(Class::Chance);
        }
        let stacked = self.stacked(sample, file, *by_command);
        verdict::judge(right, sound, plain, &stacked).ok().map(|_| Class::Chance)
    }

    fn job(&self, sample: &Sample) -> Job {
        Job::alone(self.mpi, &sample.program).within(PATIENCE).inside(&LIMITS)
    }

    fn plain(&self, sample: &Sample, tool: &Path) -> Run {
        self.run(self.job(sample).preload(tool))
    }

    fn stacked(&self, sample: &Sample, tool: &Path, by_command: bool) -> Run {
        let tool = tool.display().to_string();
        let job = self.job(sample);
        self.run(if by_command { job.stack(&[&tool]) } else { job.by_hand(&tool) })
    }

    fn run(&self, job: Job) -> Run {
        let start = Instant::now();
        let outcome = job.run();
        Run { outcome, elapsed: start.elapsed() }
    }
}
