//! Which file is a tool: names of MPI libraries, and what only MPI libraries seem to define, keep no tool out of a stack. What each
//! prints under `LD_PRELOAD` it prints in a stack, and beside one.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use qmpi_tests::wheel::run;
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("names_of_mpi_libraries", &Mpi::ALL, names_of_mpi_libraries),
        ("private_library", &Mpi::ALL, private_library),
        ("preloaded_beside_a_stack", &Mpi::ALL, preloaded_beside_a_stack),
        ("tools_of_two_mpis", &Mpi::ALL, tools_of_two_mpis),
        ("clones_are_shown", &Mpi::ALL, clones_are_shown),
        ("one_line_for_each_hazard", &Mpi::ALL, one_line_for_each_hazard),
    ])
}

/// Names that libraries of MPI have, or begin with.
const NAMES: [&str; 5] = ["libpmpi.so", "libmpl.so.1", "libmpi_gnu_trace.so", "libopa.so", "libmpich_intel.so"];

fn ring(mpi: Mpi) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c"))
}

fn copied(tool: &Path, directory: &Path, name: &str) -> Result<PathBuf, Failed> {
    let path = directory.join(name);
    std::fs::copy(tool, &path)?;
    Ok(path)
}

fn same(mode: &str, plain: &Outcome, outcome: &Outcome) -> Verdict {
    outcome.expect(0, &["done".to_owned()]).map_err(|reason| format!("{mode}: {reason}"))?;
    if outcome.lines() == plain.lines() && outcome.said().is_empty() {
        return Ok(());
    }
    Err(format!("{mode}: not as under LD_PRELOAD\n{}\n{}", outcome.report(), plain.report()).into())
}

/// One that imports `PMPI_*`, one that looks them up, and one that defines 461 of them.
fn names_of_mpi_libraries(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    for name in ["order", "rtld_next_pmpi", "many_pmpi"] {
        for file in NAMES {
            let path = copied(&tool(mpi, name), directory.path(), file)?;
            let job = ring(mpi).env("ORDER_LABEL", "x").env("ORDER_FILE", "/dev/null");
            let plain = job.clone().preload(&path).run();
            plain.expect(0, &["done".to_owned()])?;
            let path = path.display().to_string();
            same(&format!("{name} as {file}"), &plain, &job.clone().stack(&[&path]).run())?;
            same(&format!("{name} as {file}, by hand"), &plain, &job.by_hand(&path).run())?;
        }
    }
    Ok(())
}

/// A tool whose own library, with the other half of its wrappers, has such a name.
fn private_library(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    std::fs::write(
        at("half.c"),
        "#include <mpi.h>\n#include <stdio.h>\nint calls; void report(void) { printf(\"half: %d calls\\n\", calls); }
        int MPI_Comm_dup(MPI_Comm c, MPI_Comm *d) { return PMPI_Comm_dup(c, d); }\n",
    )?;
    std::fs::write(
        at("tool.c"),
        "#include <mpi.h>\nextern int calls; void report(void);
        int MPI_Barrier(MPI_Comm c) { calls++; return PMPI_Barrier(c); }
        int MPI_Finalize(void) { report(); return PMPI_Finalize(); }\n",
    )?;
    let build = |source: &str, output: &str, more: &[String]| -> Verdict {
        let mut words: Vec<String> = vec![mpi.compiler("c")];
        words.extend(["-shared", "-fPIC", "-o"].map(str::to_owned));
        words.extend([at(output).display().to_string(), at(source).display().to_string()]);
        words.extend_from_slice(more);
        Ok(run(&words, &[]).expect(0, &[])?)
    };
    build("half.c", "libmpl.so.1", &["-Wl,-soname,libmpl.so.1".to_owned()])?;
    build("tool.c", "tool.so", &[at("libmpl.so.1").display().to_string(), "-Wl,-rpath,$ORIGIN".to_owned()])?;
    let plain = ring(mpi).preload(&at("tool.so")).run();
    plain.expect(0, &["half: 1 calls".to_owned()])?;
    let path = at("tool.so").display().to_string();
    same("alone", &plain, &ring(mpi).stack(&[&path]).run())?;
    let counter = tool(mpi, "counter").display().to_string();
    let job = ring(mpi).env("COUNTER", "file=/dev/null");
    same("above another tool", &plain, &job.stack(&[&path, &counter]).run())
}

/// In the program's namespace a tool that defines `PMPI_*` is no MPI library either, whatever its name.
fn preloaded_beside_a_stack(mpi: Mpi) -> Verdict {
    let directory = tempfile::tempdir()?;
    let counter = tool(mpi, "counter").display().to_string();
    let table = |outcome: &Outcome| -> Vec<String> {
        let lines = outcome.stdout.lines().filter(|line| line.starts_with("  MPI_"));
        lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
    };
    let expected = table(&ring(mpi).preload(&tool(mpi, "counter")).run());
    if expected.is_empty() {
        return Err("the counter prints no table under LD_PRELOAD".into());
    }
    for name in ["many_pmpi", "defines_pmpi"] {
        for file in ["libtool.so", "libpmpi.so", "libmpl.so.1"] {
            let path = copied(&tool(mpi, name), directory.path(), file)?;
            let plain = ring(mpi).preload(&path).run();
            let verdict = plain.stdout.lines().find(|line| line.starts_with("tool ")).unwrap_or_default().to_owned();
            if !verdict.contains(": ok") {
                return Err(format!("{name}: {}", plain.report()).into());
            }
            let given = path.display().to_string();
            for (mode, job) in [
                ("before", ring(mpi).preload(&path).by_hand(&counter)),
                ("of the environment", ring(mpi).env("LD_PRELOAD", given).stack(&[&counter])),
            ] {
                let outcome = job.run();
                outcome.expect(0, &["done".to_owned(), verdict.clone()]).map_err(|why| format!("{mode}: {why}"))?;
                if table(&outcome) != expected {
                    return Err(format!("{name} as {file}, {mode}: another table\n{}", outcome.report()).into());
                }
            }
        }
    }
    Ok(())
}

fn qmpi(words: &[&str]) -> Outcome {
    let command = product::command().display().to_string();
    let words: Vec<String> = [command.as_str()].iter().chain(words).map(|&word| word.to_owned()).collect();
    run(&words, &[])
}

/// No process has both; whichever comes first.
fn tools_of_two_mpis(mpi: Mpi) -> Verdict {
    let other = if mpi == Mpi::OpenMpi { Mpi::Mpich } else { Mpi::OpenMpi };
    let tools = [mpi, other].map(|mpi| tool(mpi, "counter").display().to_string());
    let tools = [format!("first={}", tools[0]), format!("second={}", tools[1])];
    for (words, json) in [(&["list"][..], false), (&["list", "--json"], true), (&["env"], false)] {
        let mut words = words.to_vec();
        words.extend(["-t", &tools[0], "-t", &tools[1]]);
        let outcome = qmpi(&words);
        outcome.expect(3, &[])?;
        let said = outcome.said();
        let right = matches!(said[..], [error, hint] if error.starts_with("qmpi: error: tool `first` is built for ")
            && error.contains("tool `second`") && error.contains("MPICH") && error.contains("Open MPI")
            && hint.starts_with("qmpi: hint: "));
        let in_json = outcome.stdout.contains("\"error\": {") && outcome.stdout.contains("\"status\": 3");
        if !right || in_json != json {
            return Err(outcome.report().into());
        }
    }
    Ok(())
}

/// Sixteen instances, of which glibc has fifteen namespaces: the last ones are clones.
fn clones_are_shown(mpi: Mpi) -> Verdict {
    let counter = tool(mpi, "counter").display().to_string();
    let words = |count: usize| -> Vec<String> {
        let tools = (0..count).flat_map(|_| ["-t".to_owned(), counter.clone()]);
        ["list".to_owned(), "--json".to_owned()].into_iter().chain(tools).collect()
    };
    for (count, clones) in [(3, 0), (15, 0), (16, 2)] {
        let words = words(count);
        let outcome = qmpi(&words.iter().map(String::as_str).collect::<Vec<_>>());
        outcome.expect(0, &[])?;
        let number = |place: &str| outcome.stdout.matches(&format!("\"place\": \"{place}\"")).count();
        if (number("clone"), number("namespace")) != (clones, count - clones) {
            return Err(format!("{count} instances\n{}", outcome.report()).into());
        }
        let text: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "--json").collect();
        let text = qmpi(&text);
        if text.stdout.matches("      is a clone").count() != clones {
            return Err(text.report().into());
        }
    }
    Ok(())
}

/// However many layers have it, and without a second line.
fn one_line_for_each_hazard(mpi: Mpi) -> Verdict {
    let dropper = compile::companion(mpi, "drop_finalize.c").display().to_string();
    let counter = tool(mpi, "counter").display().to_string();
    let outcome = Job::alone(mpi, Path::new("/bin/true")).stack(&[&dropper, &dropper, &counter]).run();
    outcome.expect(0, &[])?;
    let said = outcome.said();
    let right = matches!(said[..], [line] if line.starts_with("qmpi: warning: tools `drop_finalize.so`, `drop_finalize.so#2`: ")
        && line.contains("never calls PMPI_Finalize"));
    if right { Ok(()) } else { Err(outcome.report().into()) }
}
