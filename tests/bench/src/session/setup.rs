//! Set-up: time and memory when `main` begins.

use crate::failure::Failure;
use crate::measurement::Measurement;
use crate::mpi::Mpi;
use crate::plan;
use crate::process;

use super::{Session, environment, printed, say};

impl Session<'_> {
    pub(super) fn setup(&mut self, mpi: &Mpi) -> Result<(), Failure> {
        say(&format!("{}: set-up", mpi.name));
        if mpi.is_null() {
            return self.native_setup(mpi, &["q1", "q10", "q100", "q1000"]);
        }
        if mpi.has_qmpi() {
            return Ok(());
        }
        self.bridged_setup(mpi, "pass", "p")?;
        self.bridged_setup(mpi, "counter", "c")?;
        self.native_setup(mpi, &["q1", "q10", "q100"])
    }

    fn bridged_setup(&mut self, mpi: &Mpi, tool: &str, letter: &str) -> Result<(), Failure> {
        let program = self.places.dir.join(&mpi.name).join("setup");
        let most = plan::INSTANCES.iter().flatten().max().copied().unwrap_or_default();
        let mut loaded = 0;
        for round in 1..=self.plan.setup {
            for instances in plan::INSTANCES {
                let stack = match instances {
                    None => "none".to_owned(),
                    Some(0) => "0".to_owned(),
                    Some(count) => format!("{letter}{count}"),
                };
                let mut environment = environment::of(self.places, &self.peers, mpi, &stack)?;
                if instances.is_some_and(|count| count > 0) {
                    environment.push(("QMPI_LOG", "info".into()));
                }
                let output = process::run(&program, &[], &environment)?;
                let name = instances.map_or_else(|| "-".to_owned(), |count| count.to_string());
                let (mpi, tool, cost) = (mpi.name.clone(), tool.to_owned(), printed::cost(&output.stdout)?);
                self.raw.add(Measurement::Setup {
                    mpi: mpi.clone(),
                    tool: tool.clone(),
                    instances: name,
                    round,
                    cost,
                })?;
                let times = printed::instances(&output.stderr);
                loaded = times.len() as u32;
                for (position, ms) in (1..).zip(times) {
                    let (mpi, tool) = (mpi.clone(), tool.clone());
                    let instances = instances.unwrap_or_default();
                    self.raw.add(Measurement::Instance { mpi, tool, instances, round, position, ms })?;
                }
            }
        }
        let (mpi, tool) = (mpi.name.clone(), tool.to_owned());
        self.raw.add(Measurement::Loaded { mpi, tool, instances: most, loaded })
    }

    /// Processor time and memory of native instances of the tool with all functions.
    fn native_setup(&mut self, mpi: &Mpi, stacks: &[&str]) -> Result<(), Failure> {
        for round in 1..=self.plan.setup {
            for stack in stacks {
                let cost = printed::cost(&self.run(mpi, "setup", &[], stack)?)?;
                let (mpi, stack) = (mpi.name.clone(), (*stack).to_owned());
                self.raw.add(Measurement::Native { mpi, stack, round, cost })?;
            }
        }
        Ok(())
    }
}
