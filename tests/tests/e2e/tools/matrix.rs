//! Every kind of tool above every other kind, two and three deep, for every function: which layers see a call, in which order,
//! every bit of its arguments and of its result, whose storage a tool gets, and where the application called.
//!
//! `src/matrix.rs` has the tools and the program. The innermost layer answers every call, so MPI is never initialized.

use std::sync::OnceLock;

use libtest_mimic::Failed;
use qmpi_tests::matrix::{self, Matrix};
use qmpi_tests::{Job, Mpi, Trial};

/// PMPI, QMPI, thesis.
const KINDS: [&str; 3] = ["p", "q", "t"];
/// All of them, more than once, and from two files each: the same file twice makes two instances.
const DEEP: &[&str] = &["p", "q", "t", "t2", "q2", "p2", "t", "q", "p"];

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let cases = Mpi::ALL.into_iter().flat_map(on_mpi).chain(without_mpi());
    cases.map(|case| Trial::test(case.name(), move || case.check())).collect()
}

/// What the program is linked with, and how.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// With this MPI; the file of [`Matrix::program`].
    Of(Mpi, &'static str),
    /// With a library in the place of MPI, which checks what comes to it.
    WithoutMpi,
}

/// A stack, and how the program comes to it.
#[derive(Debug, Clone)]
struct Case {
    program: Program,
    /// Tools of the application's own.
    own: &'static [&'static str],
    /// They are preloaded before us, not behind.
    own_before: bool,
    layers: Vec<&'static str>,
    /// What PMPI tools ask for themselves is hidden from the layers below; all that they call is passed on here.
    hidden: bool,
}

fn on_mpi(mpi: Mpi) -> Vec<Case> {
    let plain = |layers: &[&'static str]| Case::new(Program::Of(mpi, "program"), layers);
    let mut cases = vec![plain(&[])];
    for a in KINDS {
        cases.push(plain(&[a]));
        for b in KINDS {
            cases.push(plain(&[a, b]));
            cases.extend(KINDS.iter().map(|c| plain(&[a, b, c])));
        }
    }
    cases.extend([plain(&["p", "p2"]), plain(&["q", "q2"]), plain(&["t", "t2"]), plain(DEEP)]);
    let hidden = [
        &["p"][..],
        &["p", "p2"],
        &["p", "p", "p"],
        &["p", "q"],
        &["q", "p"],
        &["p", "t"],
        &["t", "p"],
        &["d", "p"],
        DEEP,
    ];
    cases.extend(hidden.iter().map(|layers| Case { hidden: true, ..plain(layers) }));
    // Keeps MPI_Pcontrol for itself.
    cases.extend([plain(&["d"]), plain(&["d", "d2"])]);
    cases.extend(KINDS.iter().flat_map(|kind| [plain(&["d", kind]), plain(&[kind, "d"])]));
    let stacks = [&[][..], &["p"], &["q"], &["t"], &["p", "q"], &["q", "t", "p"]];
    for own_before in [true, false] {
        cases.extend(stacks.iter().map(|layers| Case { own: &["p"], own_before, ..plain(layers) }));
    }
    for linked in ["program_now", "program_got"] {
        let stacks = [&[][..], &["p"], &["q"], &["t"], &["p", "q", "t"]];
        cases.extend(stacks.iter().map(|layers| Case::new(Program::Of(mpi, linked), layers)));
    }
    cases
}

/// The links between tools and MPI library are others than those between tools.
fn without_mpi() -> impl Iterator<Item = Case> {
    let stacks =
        [&[][..], &["p"], &["q"], &["t"], &["d"], &["p", "q"], &["q", "p"], &["q", "t"], &["p", "q", "t"], DEEP];
    stacks.into_iter().map(|layers| Case::new(Program::WithoutMpi, layers))
}

impl Case {
    fn new(program: Program, layers: &[&'static str]) -> Case {
        Case { program, own: &[], own_before: false, layers: layers.to_vec(), hidden: false }
    }

    fn name(&self) -> String {
        let program = match self.program {
            Program::Of(mpi, name) => format!("{}::{name}", mpi.name()),
            Program::WithoutMpi => "without_mpi".to_owned(),
        };
        let side = if self.own_before { "own_before" } else { "own_behind" };
        let own = if self.own.is_empty() { String::new() } else { format!("{side}_{}::", self.own.concat()) };
        let hidden = if self.hidden { "hidden::" } else { "" };
        format!("{program}::{hidden}{own}{}", self.layers.concat())
    }

    fn check(&self) -> Result<(), Failed> {
        Mpi::ALL.into_iter().for_each(Mpi::require);
        static MATRIX: OnceLock<Matrix> = OnceLock::new();
        let matrix = MATRIX.get_or_init(Matrix::write);
        let (mpi, program, sink, ways) = match self.program {
            Program::Of(mpi, name) => (mpi, matrix.program(mpi, name), Some("s"), 2),
            // Either MPI's tools will do: they know nothing of it.
            Program::WithoutMpi => (Mpi::OpenMpi, matrix.program_without_mpi(), None, 3),
        };
        let path = |name: &str| matrix.tool(mpi, name);
        let list: Vec<String> =
            self.layers.iter().copied().chain(sink).map(|name| path(name).display().to_string()).collect();
        let letters: String =
            self.own.iter().chain(&self.layers).filter_map(|name| name.chars().next()).chain(['s']).collect();
        let arguments = [letters.clone(), self.own.len().to_string()];
        let list = list.join(",");
        let job = Job::alone(mpi, &program).args(&arguments);
        let with_own = |job: Job| self.own.iter().fold(job, |job, name| job.preload(&path(name)));
        let mut job = if self.own_before { with_own(job).by_hand(&list) } else { with_own(job.by_hand(&list)) };
        let directory = tempfile::tempdir()?;
        if self.hidden {
            let sections = ["p", "p2", "d", "d2"].map(|name| {
                let file = path(name).file_name().unwrap_or_default().display().to_string();
                format!("[tool.\"{file}\"]\nown_calls = \"hidden\"\n")
            });
            let config = directory.path().join("qmpi.toml");
            std::fs::write(&config, sections.concat())?;
            job = job.env("QMPI_CONFIG", config.display().to_string());
        }
        let outcome = job.run();
        let functions = matrix::functions();
        let calls = ways * functions;
        outcome.expect(0, &[format!("matrix {letters}: {functions} functions, {calls} calls, 0 wrong")])?;
        if !outcome.said().is_empty() {
            return Err(format!("not silent\n{}", outcome.report()).into());
        }
        Ok(())
    }
}
