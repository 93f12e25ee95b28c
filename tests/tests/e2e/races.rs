//! Eight threads in a mixed stack under valgrind's helgrind: what it finds in MPI and in the tools is theirs, but no access
//! that it reports may be libqmpi's.

use std::path::Path;

use qmpi_tests::{Job, Mpi, Trial, Verdict, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("threads_under_helgrind", &Mpi::ALL, threads_under_helgrind)])
}

fn threads_under_helgrind(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let report = directory.path().join("helgrind.log");
    let counter = tool(mpi, "counter").display().to_string();
    let native = tool(mpi, "qmpi_counter").display().to_string();
    let args = [
        "--tool=helgrind".to_owned(),
        format!("--log-file={}", report.display()),
        program(mpi, "threads.c").display().to_string(),
        "self".to_owned(),
    ];
    // Set by hand: the command would replace itself by valgrind before the variables matter, which is the same.
    let job = Job::alone(mpi, Path::new("valgrind"))
        .args(&args)
        .env("COUNTER", "file=/dev/null")
        .env("LD_PRELOAD", product::runtime().display().to_string())
        .env("QMPI_TOOL_LIST", format!("{counter},counter={native},{counter}"));
    let outcome = job.run();
    outcome.expect(0, &["threads self: 800 messages".to_owned()])?;
    let text = std::fs::read_to_string(&report)?;
    if !text.contains("ERROR SUMMARY") {
        return Err(format!("helgrind did not run to its end\n{text}\n{}", outcome.report()).into());
    }
    // The first line of each trace, "at 0x...", is the access itself; those below, "by 0x...", only called it.
    let is_access = |line: &&str| line.contains("   at 0x") && line.contains("libqmpi");
    match text.lines().find(is_access) {
        Some(line) => Err(format!("libqmpi is where it happens: {line}\n{text}").into()),
        None => Ok(()),
    }
}
