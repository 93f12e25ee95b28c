//! Does the stack reach every rank? Launchers under `qmpi run`, `qmpi run` under launchers, jobs of two programs, one process alone,
//! and a stack that is lost on the way. Several hosts, and what a program spawns: `hosts.rs`. Of PALS and Flux there is none here: scripts in their
//! places do with options and variables what their documentation says, and start the ranks by the launcher that there is.

use libtest_mimic::Failed;
use qmpi_tests::traced::words;
use qmpi_tests::{Mpi, Traced, Trial, Verdict, cells, on_each_mpi, product, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("run_outside", &Mpi::ALL, run_outside),
        ("run_inside", &Mpi::ALL, run_inside),
        ("alone", &Mpi::ALL, alone),
        ("two_programs", &Mpi::ALL, two_programs),
        ("one_of_two_programs", &Mpi::ALL, one_of_two_programs),
        ("two_hosts_here", &Mpi::ALL, two_hosts_here),
        ("lost_on_the_way", &Mpi::ALL, lost_on_the_way),
        ("pals", &Mpi::ALL, pals),
        ("flux", &Mpi::ALL, flux),
    ])
}

/// The stack, and an MPI.
struct Place {
    traced: Traced,
    mpi: Mpi,
}

impl Place {
    fn new(mpi: Mpi) -> Result<Place, Failed> {
        Ok(Place { traced: Traced::new(&tool(mpi, "order"))?, mpi })
    }

    fn qmpi_run(&self) -> Vec<String> {
        self.traced.qmpi_run()
    }

    /// A launcher by its name, with what a small machine needs.
    fn launcher(&self, name: &str) -> Vec<String> {
        let mut words = vec![name.to_owned()];
        if self.mpi == Mpi::OpenMpi {
            words.push("--oversubscribe".into());
        }
        words
    }

    fn ring(&self) -> String {
        program(self.mpi, "ring.c").display().to_string()
    }

    /// Runs it; fails unless the program ended well, so many ranks had the stack, and we said nothing.
    fn expect(&self, parts: &[&[String]], with_stack: usize) -> Verdict {
        self.traced.expect_silent(parts, &[], with_stack)
    }
}

fn launchers(mpi: Mpi) -> &'static [&'static str] {
    match mpi {
        Mpi::OpenMpi => &["mpiexec.openmpi", "mpirun.openmpi", "orterun"],
        Mpi::Mpich => &["mpiexec.mpich", "mpirun.mpich", "mpiexec.hydra"],
    }
}

fn run_outside(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    for name in launchers(mpi) {
        place.expect(&[&place.qmpi_run(), &place.launcher(name), &words("-n 4"), &[place.ring()]], 4)?;
        cells::note("launchers", mpi, &format!("`qmpi run ... {name}`"), "launchers", "every rank");
    }
    Ok(())
}

fn run_inside(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    for name in launchers(mpi) {
        place.expect(&[&place.launcher(name), &words("-n 4"), &place.qmpi_run(), &[place.ring()]], 4)?;
    }
    cells::note("launchers", mpi, "`LAUNCHER ... qmpi run ./app`", "launchers", "every rank");
    Ok(())
}

fn alone(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let job = qmpi_tests::Job::alone(mpi, &program(mpi, "early.c")).args(&["initialized".to_owned()]);
    job.config(&place.traced.path("qmpi.toml")).run().expect(0, &[])?;
    let trace = std::fs::read_to_string(place.traced.path("trace")).unwrap_or_default();
    if !trace.lines().any(|line| line == "enter order MPI_Init") {
        return Err(format!("no MPI_Init in the trace\n{trace}").into());
    }
    cells::note("launchers", mpi, "no launcher", "launchers", "yes");
    Ok(())
}

fn two_programs(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let (launcher, one, other) = (place.launcher(launchers(mpi)[0]), words("-n 1"), words(": -n 2"));
    place.expect(&[&place.qmpi_run(), &launcher, &one, &[place.ring()], &other, &[place.ring()]], 3)?;
    let (run, ring) = (place.qmpi_run(), [place.ring()]);
    place.expect(&[&launcher, &one, &run, &ring, &other, &run, &ring], 3)?;
    cells::note("launchers", mpi, "two programs (`:`)", "launchers", "every rank");
    Ok(())
}

/// Only where it was asked for: right for a tool that does not communicate.
fn one_of_two_programs(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let (launcher, ring) = (place.launcher(launchers(mpi)[0]), [place.ring()]);
    place.expect(&[&launcher, &words("-n 1"), &place.qmpi_run(), &ring, &words(": -n 2"), &ring], 1)
}

/// Two names for this machine, no remote shell.
fn two_hosts_here(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let options = match mpi {
        Mpi::OpenMpi => words("--host localhost:1,127.0.0.1:1 -n 2"),
        Mpi::Mpich => words("-hosts localhost,127.0.0.1 -launcher fork -n 2"),
    };
    place.expect(&[&place.qmpi_run(), &place.launcher(launchers(mpi)[1]), &options, &[place.ring()]], 2)
}

/// Between launcher and program `env -u` takes the stack away, and leaves the runtime. A runtime that was never asked for a stack,
/// or one with an empty stack, is silent.
fn lost_on_the_way(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let (launcher, ring) = (place.launcher(launchers(mpi)[0]), [place.ring()]);
    let two = words("-n 2 env -u QMPI_TOOL_LIST -u QMPI_CONFIG");
    let outcome = place.traced.expect(&[&place.qmpi_run(), &launcher, &two, &ring], &[], 0)?;
    let said = outcome.said();
    let is_clear = (0..2).all(|rank| {
        let line = format!(
            "qmpi: error: rank {rank} runs without its stack: its launcher has QMPI_TOOL_LIST, QMPI_CONFIG, which got lost on the way"
        );
        said.contains(&line.as_str())
    });
    if !is_clear || said.len() != 4 {
        return Err(format!("not an error and a hint of each rank\n{}", outcome.report()).into());
    }
    let preload = ("LD_PRELOAD", product::runtime().display().to_string());
    place.traced.expect_silent(&[&launcher, &words("-n 2"), &ring], &[preload], 0)?;
    // Errors are said all the same.
    let empty = [product::command().display().to_string(), "run".into(), "-q".into()];
    place.expect(&[&empty, &launcher, &two, &ring], 0)
}

/// `mpiexec [-n N] [--env NAME VALUE] [--envlist NAMES] [--envall | --envnone] COMMAND`; a list goes before all or nothing.
const PALS: &str = r#"#!/usr/bin/env python3
import os, sys
words, ranks = sys.argv[1:], "1"
listed, everything = os.environ.get("PALS_ENVLIST"), os.environ.get("PALS_ENVALL", "1") == "1"
given = {}
while words[0].startswith("-"):
    option = words.pop(0).lstrip("-")
    if option == "n":
        ranks = words.pop(0)
    elif option == "env":
        given[words.pop(0)] = words.pop(0)
    elif option == "envlist":
        listed = words.pop(0)
    else:
        everything = {"envall": True, "envnone": False}[option]
names = listed.split(",") if listed else list(os.environ) if everything else []
env = {name: os.environ[name] for name in names if name in os.environ} | given
"#;

/// `flux run [-n N] [--env=RULE] [--env-remove=PATTERN] COMMAND`: rules in their order, from the whole environment on.
const FLUX: &str = r#"#!/usr/bin/env python3
import os, sys
from fnmatch import fnmatchcase
words, ranks = sys.argv[1:], "1"
assert words.pop(0) == "run"
env = dict(os.environ)
while words[0].startswith("-"):
    option = words.pop(0)
    if option == "-n":
        ranks = words.pop(0)
        continue
    name, _, rule = option.partition("=")
    if name == "--env-remove":
        env = {name: value for name, value in env.items() if not fnmatchcase(name, rule)}
    elif "=" in rule:
        env.update([rule.split("=", 1)])
    else:
        env = {name: value for name, value in os.environ.items() if fnmatchcase(name, rule)} | env
"#;

/// What the launcher that there is needs of its environment comes back, and so does nothing of ours.
fn stand_in(place: &Place, name: &str, text: &str) -> Result<String, Failed> {
    let mut launcher = place.launcher(launchers(place.mpi)[0]);
    launcher.push("-n".into());
    let kept = "kept = lambda name: not name.startswith((\"QMPI_\", \"LD_PRELOAD\"))";
    let rest = "env = {name: value for name, value in os.environ.items() if kept(name)} | env";
    let exec = format!("launcher = {launcher:?}\nos.execvpe(launcher[0], launcher + [ranks] + words, env)");
    place.traced.script(name, &format!("{text}{kept}\n{rest}\n{exec}\n"))
}

/// For each line of options: all ranks have the stack. Where a script hides the launcher from `qmpi run`, none has it, so the options matter.
fn all_ranks(place: &Place, start: &[String], lines: &[(&str, bool)]) -> Verdict {
    let hidden = place.traced.script("hidden", "#!/bin/sh\n\"$@\"\n")?;
    for (options, drops) in lines {
        let job = [start.to_vec(), words(options), words("-n 2"), vec![place.ring()]].concat();
        place.expect(&[&place.qmpi_run(), &job], 2)?;
        if *drops {
            place.expect(&[&place.qmpi_run(), std::slice::from_ref(&hidden), &job], 0)?;
        }
    }
    Ok(())
}

fn pals(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    std::fs::create_dir_all(place.traced.path("pals/bin"))?;
    let start = [stand_in(&place, "pals/bin/mpiexec", PALS)?];
    let lines = [
        ("", false),
        ("--envnone", true),
        ("--envlist HOME,PATH", true),
        ("--envnone --env HOME /", true),
        ("-envlist QMPI_TOOL_LIST", true),
    ];
    all_ranks(&place, &start, &lines)?;
    for variable in [("PALS_ENVLIST", "HOME"), ("PALS_ENVALL", "0")] {
        let job = [place.qmpi_run(), start.to_vec(), words("-n 2"), vec![place.ring()]].concat();
        place.traced.expect_silent(&[&job], &[(variable.0, variable.1.to_owned())], 2)?;
    }
    Ok(())
}

fn flux(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let start = [stand_in(&place, "flux", FLUX)?, "run".into()];
    let lines = [
        ("", false),
        ("--env-remove=*", true),
        ("--env-remove=* --env=PATH --env=HOME=/", true),
        ("--env-remove=LD_* --env=QMPI_*", true),
        ("--env=A=1", false),
    ];
    all_ranks(&place, &start, &lines)
}
