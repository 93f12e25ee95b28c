//! A tool with two versions of a wrapper: the caller gets the version that it asks for.
//!
//! Under plain LD_PRELOAD ld.so binds a reference to MPI_Send@TOOL_1 to that version of the tool's wrapper, and one that asks for no
//! version to the first that the tool defines, since such a program was linked before there were versions; dlsym gets the default
//! version, dlvsym the one that it names or none (glibc, elf/dl-lookup.c: check_match). An MPI library without versions satisfies
//! all of these references, dlvsym excepted.

use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, not_yet, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("linked_references", &Mpi::ALL, |mpi| same(mpi, &[("versioned_none.c", ""), ("versioned_1.c", "")])),
        // Each reference without a version, or of the oldest, gets the oldest wrapper, as under LD_PRELOAD; others get it, too.
        ("reference_to_a_newer_version", &Mpi::ALL, |mpi| not_yet(same(mpi, &[("versioned_2.c", "")]))),
        ("dlsym", &Mpi::ALL, |mpi| not_yet(same(mpi, &[("versioned_none.c", "dlsym"), ("versioned_1.c", "dlsym")]))),
        ("dlvsym", &Mpi::ALL, |mpi| {
            let asks = ["dlvsym TOOL_1", "dlvsym TOOL_2", "dlvsym TOOL_3"];
            not_yet(same(mpi, &asks.map(|ask| ("versioned_none.c", ask))))
        }),
        ("library_that_is_opened_later", &Mpi::ALL, |mpi| {
            same(mpi, &["versioned_none.c", "versioned_1.c", "versioned_2.c"].map(|file| (file, "part")))
        }),
    ])
}

/// `received`, `found`, and the tool's line.
fn lines(outcome: &Outcome) -> Vec<&str> {
    outcome
        .stdout
        .lines()
        .filter(|line| line.starts_with("versioned: ") || line.starts_with("tool versioned"))
        .collect()
}

/// In a stack, alone and above a counter, the program and the tool print what they print under LD_PRELOAD.
fn same(mpi: Mpi, programs: &[(&str, &str)]) -> Verdict {
    let library = tool(mpi, "versioned_wrappers");
    let path = library.display().to_string();
    let counter = tool(mpi, "counter").display().to_string();
    let mut failures = Vec::new();
    for (file, arguments) in programs {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let job = Job::alone(mpi, &program(mpi, file)).args(&arguments);
        let native = job.run();
        native.expect(0, &["versioned: received 7".to_owned()])?;
        let preloaded = job.clone().preload(&library).run();
        preloaded.expect(0, &["versioned: received 7".to_owned()])?;
        if preloaded.count("tool versioned_wrappers: ok calls=1 ") != 1 {
            return Err(format!("LD_PRELOAD: the tool has not seen the call\n{}", preloaded.report()).into());
        }
        for tools in [&[path.as_str()][..], &[&path, &counter]] {
            let stacked = job.clone().stack(tools).run();
            if stacked.status != 0 || lines(&stacked) != lines(&preloaded) {
                let (seen, expected) = (lines(&stacked), lines(&preloaded));
                let layers = tools.len();
                let what = format!("{file} {arguments:?}, {layers} layers: {seen:?} instead of {expected:?}");
                failures.push(format!("{what}\n{}", stacked.report()));
            }
        }
        // Without a tool the MPI library gets the call.
        let empty = job.stack(&[]).run();
        if empty.status != 0 || lines(&empty) != lines(&native) {
            failures.push(format!("{file} {arguments:?}, empty stack\n{}", empty.report()));
        }
    }
    let Some(first) = failures.first() else { return Ok(()) };
    let heads: Vec<&str> = failures.iter().filter_map(|failure| failure.lines().next()).collect();
    Err(format!("{}\n\n{first}", heads.join("\n")).into())
}
