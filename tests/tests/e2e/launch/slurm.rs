//! Slurm: `srun` and `sbatch`, with and without variables, on several nodes. `ci/slurm` starts one for these tests; without it there are none.

use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::gdb::Session;
use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, product, program, tables, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    if std::env::var_os("QMPI_TEST_SLURM").is_none() {
        return Vec::new();
    }
    on_each_mpi(&[
        ("run_outside", &Mpi::ALL, run_outside),
        ("run_inside", &Mpi::ALL, run_inside),
        ("without_variables", &Mpi::ALL, without_variables),
        ("batch", &Mpi::ALL, batch),
        ("batch_without_variables", &Mpi::ALL, batch_without_variables),
        ("two_programs", &[Mpi::Mpich], two_programs),
        ("debugger", &Mpi::ALL, debugger),
    ])
}

/// srun with what this MPI needs to find its ranks: four on two nodes.
fn srun(mpi: Mpi) -> String {
    let kind = if mpi == Mpi::OpenMpi { "pmix" } else { "pmi2" };
    format!("srun --mpi={kind} -N2 -n4")
}

fn qmpi() -> String {
    product::command().display().to_string()
}

/// `qmpi run` with a counter.
fn run(mpi: Mpi) -> String {
    format!("{} run -t {}", qmpi(), tool(mpi, "counter").display())
}

fn ring(mpi: Mpi) -> String {
    program(mpi, "ring.c").display().to_string()
}

/// What a line of a shell prints.
fn shell(mpi: Mpi, line: &str) -> Result<String, Failed> {
    let output = Command::new("timeout").args(["120", "bash", "-c", line]).envs(mpi.variables()).output()?;
    let text = [&output.stdout[..], &output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{line}\n{text}").into()) }
}

/// One job of four ranks, all of them in the counter's table, and no word of ours.
fn counted(mpi: Mpi, line: &str) -> Verdict {
    let text = shell(mpi, line)?;
    expect_counted(line, &text)
}

fn expect_counted(line: &str, text: &str) -> Verdict {
    let report = || -> Failed { format!("{line}\n{text}").into() };
    if text.lines().any(|line| line.starts_with("qmpi")) || text.matches("MPI calls of 4 ranks").count() != 1 {
        return Err(report());
    }
    let bcasts = tables::read(text).get("counter").and_then(|table| table.get("MPI_Bcast").copied());
    if bcasts == Some((4, 16)) { Ok(()) } else { Err(report()) }
}

fn run_outside(mpi: Mpi) -> Verdict {
    counted(mpi, &format!("{} {} {}", run(mpi), srun(mpi), ring(mpi)))
}

fn run_inside(mpi: Mpi) -> Verdict {
    counted(mpi, &format!("{} {} {}", srun(mpi), run(mpi), ring(mpi)))
}

/// What the user keeps from ranks stays away, and the stack gets there.
fn without_variables(mpi: Mpi) -> Verdict {
    for export in ["--export=NONE", "--export NIL", "--export=PATH", "--export=MINE=1"] {
        counted(mpi, &format!("{} {} {export} {}", run(mpi), srun(mpi), ring(mpi)))?;
    }
    counted(mpi, &format!("SLURM_EXPORT_ENV=NONE {} {} {}", run(mpi), srun(mpi), ring(mpi)))?;
    let asks = "/bin/bash -c 'echo mine=$MINE list=${QMPI_TOOL_LIST##*/}'";
    let text = shell(mpi, &format!("MINE=1 {} srun -N2 -n4 --export=NONE {asks}", run(mpi)))?;
    if text.matches("mine= list=counter.so").count() == 4 { Ok(()) } else { Err(text.into()) }
}

/// Submits a script, waits for its end and returns what it printed.
fn submitted(mpi: Mpi, options: &str, lines: &str) -> Result<String, Failed> {
    let directory = tempfile::tempdir()?;
    let (script, output) = (directory.path().join("job"), directory.path().join("output"));
    std::fs::write(&script, format!("#!/bin/bash\n{lines}\n"))?;
    let said = shell(mpi, &format!("sbatch -N2 -n4 -W {options} -o {} {}", output.display(), script.display()))?;
    let text = std::fs::read_to_string(output)?;
    if text.is_empty() { Err(said.into()) } else { Ok(text) }
}

fn batch(mpi: Mpi) -> Verdict {
    let lines = format!("{} {} {}", run(mpi), srun(mpi), ring(mpi));
    expect_counted(&lines, &submitted(mpi, "", &lines)?)?;
    let (qmpi, counter) = (qmpi(), tool(mpi, "counter"));
    let lines = format!("eval \"$({qmpi} env -t {})\"\n{} {}", counter.display(), srun(mpi), ring(mpi));
    expect_counted(&lines, &submitted(mpi, "", &lines)?)
}

/// `sbatch --export=NONE` makes each `srun` of the script drop variables as well.
fn batch_without_variables(mpi: Mpi) -> Verdict {
    let variables: String =
        mpi.variables().into_iter().map(|(name, value)| format!("export {name}={value}\n")).collect();
    let lines = format!("{variables}{} {} {}", run(mpi), srun(mpi), ring(mpi));
    expect_counted(&lines, &submitted(mpi, "--export=NONE", &lines)?)
}

/// A job of two parts, one of which keeps variables away.
fn two_programs(mpi: Mpi) -> Verdict {
    let part = |more: &str| format!("--mpi=pmi2 -n2 {more} /bin/bash -c 'echo list=${{QMPI_TOOL_LIST##*/}}'");
    let text = shell(mpi, &format!("{} srun {} : {}", run(mpi), part(""), part("--export=NONE")))?;
    if text.matches("list=counter.so").count() == 4 { Ok(()) } else { Err(text.into()) }
}

/// A debugger that knows MPIR alone finds all ranks on both nodes, and they wait for it.
fn debugger(mpi: Mpi) -> Verdict {
    let line = format!("{} run --quiet --mpir {} {}", qmpi(), srun(mpi), program(mpi, "mpir.c").display());
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let directory = std::env::temp_dir().join(format!("qmpi-slurm-mpir-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let session = Session::start(&directory, &words, &mpi.variables());
    std::fs::remove_dir_all(&directory)?;
    let session = session?;
    let table: Vec<u32> = session.tables().concat().iter().map(|(_, pid)| *pid).collect();
    let is_right = table.len() == 4 && table == session.ranks() && session.was_held();
    if is_right { Ok(()) } else { Err(session.output.into()) }
}
