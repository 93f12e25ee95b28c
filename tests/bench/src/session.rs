//! A run of the benchmark.

mod calls;
mod environment;
mod instructions;
mod printed;
mod setup;

use crate::build::Build;
use crate::failure::Failure;
use crate::machine;
use crate::measurement::Measurement;
use crate::mpi::Mpi;
use crate::options::Options;
use crate::peers::Peers;
use crate::places::Places;
use crate::plan::Plan;
use crate::process;
use crate::raw::Raw;

/// Everything that is needed is built; from here on it only has to be run.
pub(crate) struct Session<'a> {
    places: &'a Places,
    plan: Plan,
    peers: Peers,
    /// The null MPI first.
    mpis: Vec<Mpi>,
    /// Are instructions counted?
    counting: bool,
    /// Are times measured?
    timing: bool,
    raw: Raw,
}

fn say(text: &str) {
    eprintln!("bench: {text}");
}

impl<'a> Session<'a> {
    pub(crate) fn prepare(options: &Options, places: &'a Places) -> Result<Self, Failure> {
        places.check()?;
        let is_null_alone = options.once || options.instructions;
        let peers = if is_null_alone { Peers::none() } else { Peers::find(&places.root) };
        let mut mpis = vec![Mpi::null()];
        if !is_null_alone {
            mpis.extend(asked_for()?);
            mpis.extend(peers.mpich().map(Mpi::with_qmpi));
        }
        let dir = &places.dir;
        match std::fs::remove_dir_all(dir) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Failure::of(dir, &error)),
            _ => {}
        }
        std::fs::create_dir_all(dir).map_err(|error| Failure::of(dir, &error))?;
        say(&format!("building in {}", dir.display()));
        for mpi in &mpis {
            Build::all(places, mpi, peers.pnmpi(mpi).as_ref())?;
        }
        let raw = Raw::create(dir.join("measurements.tsv"))?;
        Ok(Self {
            places,
            plan: Plan::of(options),
            peers,
            mpis,
            counting: !options.once,
            timing: !options.instructions,
            raw,
        })
    }

    pub(crate) fn measure(mut self) -> Result<Raw, Failure> {
        let mpis = self.mpis.clone();
        self.machine()?;
        if !self.timing {
            self.instructions()?;
            return Ok(self.raw);
        }
        process::pin()?;
        for mpi in &mpis {
            self.calls(mpi)?;
        }
        self.interface()?;
        self.layers()?;
        self.instructions()?;
        for mpi in &mpis {
            self.setup(mpi)?;
        }
        Ok(self.raw)
    }

    fn machine(&mut self) -> Result<(), Failure> {
        let mut lines = machine::lines(&self.mpis);
        for mpi in &self.mpis {
            lines.extend(self.peers.pnmpi(mpi).map(|pnmpi| format!("PnMPI {} for {}", pnmpi.version(), mpi.name)));
        }
        let usual: Vec<Mpi> = self.mpis.iter().filter(|mpi| !mpi.has_qmpi()).cloned().collect();
        if self.mpis.len() > 1 {
            for line in self.peers.left_out(&usual) {
                say(&line);
                lines.push(line);
            }
        }
        lines.push(machine::load());
        lines.into_iter().try_for_each(|line| self.raw.add(Measurement::Machine(line)))
    }
}

/// Those of the variable `MPI`, or all that are found.
fn asked_for() -> Result<Vec<Mpi>, Failure> {
    match std::env::var("MPI") {
        Ok(suffixes) => suffixes
            .split_whitespace()
            .map(|suffix| Mpi::installed(suffix).ok_or_else(|| Failure::new(format!("no mpicc.{suffix}"))))
            .collect(),
        Err(_) => Ok(["openmpi", "mpich"].iter().filter_map(|suffix| Mpi::installed(suffix)).collect()),
    }
}
