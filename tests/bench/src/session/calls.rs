//! Rounds of calls.

use crate::failure::Failure;
use crate::measurement::Measurement;
use crate::mpi::Mpi;
use crate::plan::{self, Plan};
use crate::process;

use super::{Session, environment, printed, say};

impl Session<'_> {
    /// What a program prints with this stack.
    pub(super) fn run(&self, mpi: &Mpi, program: &str, arguments: &[&str], stack: &str) -> Result<String, Failure> {
        let environment = environment::of(self.places, &self.peers, mpi, stack)?;
        let program = self.places.dir.join(&mpi.name).join(program);
        process::run(&program, arguments, &environment).map(|output| output.stdout)
    }

    pub(super) fn calls(&mut self, mpi: &Mpi) -> Result<(), Failure> {
        let stacks = self.plan.stacks(mpi, self.peers.pnmpi(mpi).is_some());
        let rounds = self.plan.rounds(mpi);
        say(&format!("{}: {rounds} rounds of {} stacks", mpi.name, stacks.len()));
        for round in 1..=rounds {
            for stack in Plan::order(round, &stacks) {
                for (function, ns) in printed::calls(&self.run(mpi, "calls", &[], stack)?)? {
                    let (mpi, stack) = (mpi.name.clone(), stack.to_owned());
                    self.raw.add(Measurement::Call { mpi, stack, round, function, ns })?;
                }
            }
        }
        Ok(())
    }

    /// The functions of the interface, called in a loop by a tool.
    pub(super) fn interface(&mut self) -> Result<(), Failure> {
        for round in 1..=self.plan.layers {
            for (function, ns) in printed::interface(&self.run(&Mpi::null(), "calls", &["once"], "i1")?)? {
                self.raw.add(Measurement::Interface { round, function, ns })?;
            }
        }
        Ok(())
    }

    /// One to a thousand instances of a tool, on the null MPI; and of MPICH's own QMPI, where that is.
    pub(super) fn layers(&mut self) -> Result<(), Failure> {
        let null = Mpi::null();
        let own = self.mpis.iter().find(|mpi| mpi.has_qmpi()).cloned();
        let tools = ["q", "t", "p"].map(|tool| (tool, null.clone())).into_iter();
        let tools: Vec<(&str, Mpi)> = tools.chain(own.map(|mpi| ("own", mpi))).collect();
        say(&format!("{} rounds of 1 to 1000 layers", self.plan.layers));
        for round in 1..=self.plan.layers {
            for (tool, mpi) in &tools {
                for layers in plan::LAYERS {
                    let stack = format!("{tool}{layers}");
                    let text = self.run(mpi, "calls", &["layers", &layers.to_string()], &stack)?;
                    for (function, ns) in printed::calls(&text)? {
                        let tool = (*tool).to_owned();
                        self.raw.add(Measurement::Layers { tool, layers, round, function, ns })?;
                    }
                }
            }
        }
        Ok(())
    }
}
