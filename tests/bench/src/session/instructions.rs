//! Instructions, counted by callgrind.

use std::path::{Path, PathBuf};

use crate::callgrind;
use crate::failure::Failure;
use crate::measurement::Measurement;
use crate::mpi::Mpi;
use crate::plan;
use crate::process;

use super::{Session, environment, say};

impl Session<'_> {
    /// One process for each stack; callgrind writes what it has counted whenever the next function's turn begins.
    pub(super) fn instructions(&mut self) -> Result<(), Failure> {
        if !self.counting {
            return Ok(());
        }
        if process::first_line("valgrind", &["--version"]).is_none() {
            say("no valgrind: instructions are not counted");
            return Ok(());
        }
        say("counting instructions");
        for stack in plan::COUNTED {
            let counted = callgrind::sum(&self.dumps(stack)?);
            if counted.is_empty() {
                return Err(Failure::new(format!("callgrind counted nothing: {stack}")));
            }
            for callgrind::Counted { function, ours, other } in counted {
                for (object, count) in [("libqmpi", ours), ("other", other)] {
                    let (mpi, stack, object) = (Mpi::null().name, stack.to_owned(), object.to_owned());
                    self.raw.add(Measurement::Instructions {
                        mpi,
                        stack,
                        function: function.clone(),
                        object,
                        count,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Of one process, in their order.
    fn dumps(&self, stack: &str) -> Result<Vec<String>, Failure> {
        let dir = self.places.dir.join("callgrind").join(stack);
        std::fs::create_dir_all(&dir).map_err(|error| Failure::of(&dir, &error))?;
        let mut environment = environment::of(self.places, &self.peers, &Mpi::null(), stack)?;
        // Names are bound at once, so that the binding is not counted with the calls.
        environment.push(("LD_BIND_NOW", "1".into()));
        let output = format!("--callgrind-out-file={}", dir.join("out").display());
        let program = self.places.dir.join("null/calls").display().to_string();
        let arguments = ["-q", "--tool=callgrind", &output, "--dump-before=call_*", &program, "once"];
        process::run(Path::new("valgrind"), &arguments, &environment)?;
        let entries = std::fs::read_dir(&dir).map_err(|error| Failure::of(&dir, &error))?;
        let number = |path: PathBuf| Some((path.extension()?.to_str()?.parse::<u32>().ok()?, path));
        let mut files: Vec<(u32, PathBuf)> = entries.flatten().filter_map(|entry| number(entry.path())).collect();
        files.sort();
        let read =
            |(_, path): &(u32, PathBuf)| std::fs::read_to_string(path).map_err(|error| Failure::of(path, &error));
        files.iter().map(read).collect()
    }
}
