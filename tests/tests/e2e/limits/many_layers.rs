//! A thousand layers that wrap every function: native QMPI tools, PMPI tools, and both in turns. Start-up takes at most 5 ms a layer
//! and is linear, and a call goes through all of them.
//!
//! The tools are those of `shim-gen`, but for MPI_Comm_size, to which each layer adds one: a result tells how many were called.

use std::fmt::Write;
use std::path::PathBuf;

use libtest_mimic::Failed;
use qmpi_tests::{
    Job, Mpi, Outcome, Trial, Verdict, artifact, compile, linear_layers, on_each_mpi, product, program, wheel,
};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("native", &Mpi::ALL, |mpi| layers(mpi, &["native"])),
        ("bridged", &Mpi::ALL, |mpi| layers(mpi, &["bridged"])),
        ("alternating", &Mpi::ALL, |mpi| layers(mpi, &["native", "bridged"])),
    ])
}

/// One of `shim-gen`'s tools that adds to the size of a communicator.
fn generated(mpi: Mpi, kind: &str, name: &str, call: &str) -> Result<PathBuf, Failed> {
    let directory = compile::directory(mpi);
    let source = product::generated(&mpi.header(), &directory, kind, &format!("{name}_plain"));
    let text = std::fs::read_to_string(source)?;
    let from = format!("return {call};");
    let changed = text.replace(&from, &format!("int result = {call};\n    ++*size;\n    return result;"));
    if text.matches(&from).count() != 1 {
        return Err(format!("shim-gen {kind} does not write {from:?} once").into());
    }
    let source = directory.join(format!("{name}.c"));
    artifact::write_source(&source, changed.as_bytes());
    let include = product::root().join("bridge/include").display().to_string();
    Ok(wheel::build(&mpi.compiler("c"), &directory, &source, &["-I", &include, "-shared", "-fPIC"]))
}

/// Plain `LD_PRELOAD` has one layer; with one tool of the kind it gives 2. A stack of N gives 1 + N.
fn layers(mpi: Mpi, kinds: &[&str]) -> Verdict {
    let bridged = generated(mpi, "passthrough", "adds_bridged", "(PMPI_Comm_size)(comm, size)")?;
    let call = "((QMPI_Comm_size_t *) next->function)(context, next->tool_id, comm, size)";
    let native = generated(mpi, "qmpi-passthrough", "adds_native", call)?;
    let job = Job::alone(mpi, &program(mpi, "asks_size.c")).within(100);
    job.clone().preload(&bridged).run().expect(0, &["asks_size: 2".to_owned()])?;

    let directory = tempfile::tempdir()?;
    let stack = |count: usize| -> Result<Job, Failed> {
        let names: Vec<&str> = kinds.iter().copied().cycle().take(count).collect();
        let mut text = format!("stack = {names:?}\n");
        for (name, path) in [("native", &native), ("bridged", &bridged)] {
            writeln!(text, "[tool.{name}]\npath = {path:?}")?;
        }
        let path = directory.path().join(format!("{count}.toml"));
        std::fs::write(&path, text)?;
        Ok(job.clone().preload(&product::runtime()).env("QMPI_CONFIG", path.display().to_string()))
    };
    let run = |count: usize| -> Result<Outcome, Failed> { Ok(stack(count)?.run()) };
    linear_layers::check(&format!("{}: {}", mpi.name(), kinds.join(" and ")), run)
}
