//! Processes have the settings of the site's configuration, and its tools.

use qmpi_tests::{Job, Mpi, Tables, Trial, Verdict, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("settings_reach_processes", &Mpi::ALL, settings_reach_processes)])
}

/// The site has a counter innermost in each stack, with a variable of its own; the user names another one by the site's name.
fn settings_reach_processes(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let (site, own) = (directory.path().join("site.toml"), directory.path().join("own.toml"));
    let counter = tool(mpi, "counter");
    let section = |name: &str| format!("[tool.{name}]\npath = {counter:?}\nenv = {{ COUNTER = \"label={name}\" }}\n");
    std::fs::write(&site, format!("innermost = [\"always\"]\n{}{}", section("always"), section("by_name")))?;
    std::fs::write(&own, format!("stack = [\"own\", \"by_name\"]\n{}", section("own")))?;
    let job = Job::new(mpi, 4, &program(mpi, "ring.c")).env("QMPI_SITE_CONFIG", site.display().to_string());
    for (job, labels) in [
        (job.clone().config(&own), &["own", "by_name", "always"][..]),
        (job.clone().stack(&["by_name"]), &["by_name", "always"]),
        (job.stack(&[]), &["always"]),
    ] {
        let outcome = job.run();
        outcome.expect(0, &["done".to_owned()])?;
        let tables = Tables::of(&outcome);
        for label in labels {
            let bcasts = tables.get(label)?.get("MPI_Bcast").copied();
            if bcasts != Some((4, 16)) {
                return Err(format!("{label}: {bcasts:?}\n{}", outcome.report()).into());
            }
        }
    }
    Ok(())
}
