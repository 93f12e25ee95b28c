//! Does the stack reach every rank? Launchers under `qmpi run`, `qmpi run` under launchers, jobs of two programs, one process alone,
//! and two "hosts": a remote shell that, like ssh, takes nothing of the environment along.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use libtest_mimic::Failed;
use qmpi_tests::{Mpi, Verdict, cells, on_each_mpi, product, program, tool};

/// What has to get to a rank.
const VARIABLES: [&str; 3] = ["LD_PRELOAD", "QMPI_TOOL_LIST", "QMPI_CONFIG"];

fn main() -> ExitCode {
    on_each_mpi(&[
        ("run_outside", &Mpi::ALL, run_outside),
        ("run_inside", &Mpi::ALL, run_inside),
        ("alone", &Mpi::ALL, alone),
        ("two_programs", &Mpi::ALL, two_programs),
        ("one_of_two_programs", &Mpi::ALL, one_of_two_programs),
        ("two_hosts_here", &Mpi::ALL, two_hosts_here),
        ("another_host", &Mpi::ALL, another_host),
        ("another_host_without_the_variables", &Mpi::ALL, another_host_without_the_variables),
        ("another_host_run_inside", &Mpi::ALL, another_host_run_inside),
    ])
}

/// A stack of one tool that notes every call of every rank in a file, also where no variable of ours arrives: its settings are
/// in the configuration file.
struct Place {
    directory: tempfile::TempDir,
    mpi: Mpi,
}

impl Place {
    fn new(mpi: Mpi) -> Result<Place, Failed> {
        let place = Place { directory: tempfile::tempdir()?, mpi };
        let text = format!(
            "stack = [\"order\"]\n[tool.order]\npath = {:?}\nenv = {{ ORDER_FILE = {:?}, ORDER_RANK = \"all\" }}\n",
            tool(mpi, "order"),
            place.path("trace")
        );
        std::fs::write(place.path("qmpi.toml"), text)?;
        // The host comes first; hydra puts an option of ssh before it.
        let shell =
            "#!/bin/sh\n[ \"$1\" != -x ] || shift\nshift\nexec env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c \"$*\"\n";
        std::fs::write(place.path("remote_shell"), shell)?;
        std::fs::set_permissions(place.path("remote_shell"), PermissionsExt::from_mode(0o755))?;
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// `qmpi run` with the stack.
    fn qmpi_run(&self) -> Vec<String> {
        [product::command().display().to_string(), "run".into(), "-c".into(), self.text("qmpi.toml"), "--".into()]
            .to_vec()
    }

    /// A launcher by its name, with what a small machine needs.
    fn launcher(&self, name: &str) -> Vec<String> {
        let mut words = vec![name.to_owned()];
        if self.mpi == Mpi::OpenMpi {
            words.push("--oversubscribe".into());
        }
        words
    }

    /// The launcher with a second host, behind the remote shell.
    fn remote(&self) -> Vec<String> {
        let shell = self.text("remote_shell");
        let words: Vec<&str> = match self.mpi {
            Mpi::OpenMpi => {
                vec![
                    "mpirun.openmpi",
                    "--oversubscribe",
                    "--mca",
                    "plm",
                    "rsh",
                    "--mca",
                    "plm_rsh_agent",
                    &shell,
                    "--host",
                    "localhost:1,elsewhere:1",
                ]
            }
            Mpi::Mpich => {
                vec!["mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", &shell, "-hosts", "localhost,elsewhere"]
            }
        };
        words.into_iter().map(str::to_owned).collect()
    }

    fn ring(&self) -> String {
        program(self.mpi, "ring.c").display().to_string()
    }

    /// Runs it; fails unless the program ended well and so many ranks had the stack.
    fn expect(&self, parts: &[&[String]], with_stack: usize) -> Verdict {
        let words: Vec<String> = parts.concat();
        // What an earlier run left.
        let _ = std::fs::remove_file(self.path("trace"));
        let output =
            Command::new("timeout").args(["-k", "5", "60"]).args(&words).envs(self.mpi.variables()).output()?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let trace = std::fs::read_to_string(self.path("trace")).unwrap_or_default();
        let ranks = trace.lines().filter(|line| *line == "enter order MPI_Init").count();
        if output.status.success() && out.lines().any(|line| line == "done") && ranks == with_stack {
            return Ok(());
        }
        let status = output.status;
        let words = words.join(" ");
        Err(format!(
            "{words}: {status}, {ranks} ranks with the stack, not {with_stack}\n--- stdout\n{out}--- stderr\n{err}"
        )
        .into())
    }
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
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
    job.config(&place.path("qmpi.toml")).run().expect(0, &[])?;
    let trace = std::fs::read_to_string(place.path("trace")).unwrap_or_default();
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

/// hydra sends the environment itself; Open MPI sends what it is told to: with -x, or by a parameter of its own.
fn another_host(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let (run, remote, ring) = (place.qmpi_run(), place.remote(), [place.ring()]);
    if mpi == Mpi::Mpich {
        place.expect(&[&run, &remote, &words("-n 2"), &ring], 2)?;
        place.expect(&[&run, &remote, &words("-genvlist"), &[VARIABLES.join(",")], &words("-n 2"), &ring], 2)?;
        cells::note("launchers", mpi, "another host", "launchers", "every rank");
        return Ok(());
    }
    let options: Vec<String> = VARIABLES.iter().flat_map(|name| ["-x".to_owned(), (*name).to_owned()]).collect();
    place.expect(&[&run, &remote, &options, &words("-n 2"), &ring], 2)?;
    let list = format!("OMPI_MCA_mca_base_env_list={}", VARIABLES.join(";"));
    place.expect(&[&["env".to_owned(), list], &run, &remote, &words("-n 2"), &ring], 2)?;
    cells::note("launchers", mpi, "another host", "launchers", "with `-x NAME` or `mca_base_env_list` (4)");
    Ok(())
}

/// What is lost, so that a change of it does not go unnoticed.
fn another_host_without_the_variables(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    let drop = if mpi == Mpi::Mpich { words("-genvnone -n 2") } else { words("-x LD_PRELOAD -n 2") };
    place.expect(&[&place.qmpi_run(), &place.remote(), &drop, &[place.ring()]], 1)
}

fn another_host_run_inside(mpi: Mpi) -> Verdict {
    let place = Place::new(mpi)?;
    place.expect(&[&place.remote(), &words("-n 2"), &place.qmpi_run(), &[place.ring()]], 2)?;
    cells::note("launchers", mpi, "another host, `qmpi run ./app` there", "launchers", "every rank");
    Ok(())
}
