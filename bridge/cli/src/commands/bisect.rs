//! `qmpi bisect`: which layers does it take to make COMMAND end in another way than without a stack?

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use qmpi_launch::environment::of_process;
use qmpi_measured::ended::{self, Ended};
use qmpi_plan::variable;

use crate::args::{BisectArgs, RuntimeArgs, StackArgs};
use crate::terminal;
use crate::{Error, LaunchError, plan};

/// A run, and the end of what it printed to stderr.
struct BisectRun {
    end: Ended,
    said: String,
}

/// Runs COMMAND with ever fewer layers. `false`: the layers make no difference.
pub(crate) fn bisect(args: &BisectArgs) -> Result<bool, Error> {
    let checked = plan::check(&args.stack, &args.command, args.verbosity, &of_process)?;
    let elements = plan::elements(&checked.variables(&RuntimeArgs::default(), &of_process)?);
    if elements.is_empty() {
        return Err(Error::usage("there are no layers to search", "name tools with -t, or a file with -c"));
    }
    let mut search = Bisection {
        args,
        labels: checked.layers.iter().map(|layer| layer.label()).collect(),
        elements,
        number: 0,
        good: BTreeSet::new(),
    };
    search.find()
}

struct Bisection<'a> {
    args: &'a BisectArgs,
    labels: Vec<&'a str>,
    elements: Vec<String>,
    number: usize,
    /// What ends as without a stack.
    good: BTreeSet<Vec<usize>>,
}

impl Bisection<'_> {
    fn find(&mut self) -> Result<bool, Error> {
        let good = self.run("without qmpi", None)?.end;
        let all: Vec<usize> = (0..self.elements.len()).collect();
        let whole = self.run_layers(&all, good)?;
        if whole.end == good {
            terminal::answer(&format!("The stack makes no difference: {} with it and without it.\n", in_words(good)))?;
            return Ok(false);
        }
        let runtime = self.run("no layers", Some(&[]))?;
        if runtime.end != good {
            let (alone, without) = (in_words(runtime.end), in_words(good));
            terminal::answer(&format!("It takes no layer: {alone} with libqmpi.so alone, {without} without it.\n"))?;
            return Ok(true);
        }
        let (layers, run) = self.smallest(all, whole, good)?;
        let (names, with, without) = (self.names(&layers), in_words(run.end), in_words(good));
        let text = match layers[..] {
            [_] => format!("Layer {names} alone: {with}, where without it {without}.\n"),
            _ => format!("Layers {names} together, none of them left out: {with}, where without them {without}.\n"),
        };
        terminal::answer(&(text + &run.said))?;
        Ok(true)
    }

    /// Leaves layers out as long as what is left still ends in another way: halves first, then single ones (delta debugging, after Zeller).
    fn smallest(
        &mut self,
        mut layers: Vec<usize>,
        mut run: BisectRun,
        good: Ended,
    ) -> Result<(Vec<usize>, BisectRun), Error> {
        let mut parts = 2;
        while layers.len() > 1 {
            let size = layers.len().div_ceil(parts);
            let chunks: Vec<Vec<usize>> = layers.chunks(size).map(<[usize]>::to_vec).collect();
            let without = |chunk: &Vec<usize>| layers.iter().copied().filter(|layer| !chunk.contains(layer)).collect();
            let rests: Vec<Vec<usize>> =
                if chunks.len() > 2 { chunks.iter().map(without).collect() } else { Vec::new() };
            let mut smaller = None;
            for (candidate, next_parts) in
                chunks.into_iter().map(|chunk| (chunk, 2)).chain(rests.into_iter().map(|rest| (rest, parts - 1)))
            {
                if self.good.contains(&candidate) {
                    continue;
                }
                let ended = self.run_layers(&candidate, good)?;
                if ended.end != good {
                    smaller = Some((candidate, ended, next_parts.max(2)));
                    break;
                }
                self.good.insert(candidate);
            }
            match smaller {
                Some((candidate, ended, next_parts)) => (layers, run, parts) = (candidate, ended, next_parts),
                None if size == 1 => break,
                None => parts = (parts * 2).min(layers.len()),
            }
        }
        Ok((layers, run))
    }

    fn names(&self, layers: &[usize]) -> String {
        layers.iter().map(|layer| format!("`{}`", self.labels[*layer])).collect::<Vec<_>>().join(", ")
    }

    /// As often as asked, until it ends otherwise than `good`.
    fn run_layers(&mut self, layers: &[usize], good: Ended) -> Result<BisectRun, Error> {
        let name = self.names(layers);
        let mut run = self.run(&name, Some(layers))?;
        for _ in 1..self.args.runs.get() {
            if run.end != good {
                break;
            }
            run = self.run(&name, Some(layers))?;
        }
        Ok(run)
    }

    /// Runs COMMAND with these layers; `None`: by itself.
    fn run(&mut self, name: &str, layers: Option<&[usize]>) -> Result<BisectRun, Error> {
        let mut words = Vec::new();
        if let Some(layers) = layers {
            let tools = layers.iter().map(|layer| self.elements[*layer].clone()).collect();
            words.extend([std::env::current_exe().map_err(Error::output)?.into_os_string(), "run".into()]);
            words.extend(StackArgs { tools, ..self.args.stack.clone() }.options());
            words.push("--".into());
        }
        words.extend(self.args.command.iter().cloned());
        let began = Instant::now();
        let run = execute(&words, Duration::from_secs(self.args.timeout.into()))?;
        self.number += 1;
        let line = format!(
            "{:>3}  {:<12}  {:>6.1} s  {name}\n",
            self.number,
            in_words(run.end),
            began.elapsed().as_secs_f64()
        );
        terminal::answer(&line)?;
        Ok(run)
    }
}

/// Runs a command in a process group of its own, for so long at most.
fn execute(words: &[OsString], patience: Duration) -> Result<BisectRun, Error> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(LaunchError::CommandNotFound(String::new()).into());
    };
    let mut said = tempfile::tempfile().map_err(Error::output)?;
    let stderr = said.try_clone().map_err(Error::output)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr).process_group(0);
    // An empty list, and not that of the environment, where there are no tools.
    command.env(variable::TOOL_LIST, "");
    let mut child = command.spawn().map_err(|source| Error::not_executable(program, source))?;
    let end = ended::wait(&mut child, Some(patience), |child, _| {
        // The launcher and what it has started on this host. All of them may have ended in the meantime.
        let _ =
            rustix::process::kill_process_group(rustix::process::Pid::from_child(child), rustix::process::Signal::KILL);
        Ok(())
    });
    let end = end.map_err(Error::output)?;
    Ok(BisectRun { end, said: last_lines(&mut said).unwrap_or_default() })
}

fn last_lines(file: &mut File) -> std::io::Result<String> {
    const LINES: usize = 10;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Ok(lines.iter().skip(lines.len().saturating_sub(LINES)).map(|line| format!("  | {line}\n")).collect())
}

/// `status 3`, as it stands in a column and in a sentence.
fn in_words(end: Ended) -> String {
    match end {
        Ended::Exited(code) => format!("status {code}"),
        Ended::Killed(signal) => format!("signal {signal}"),
        Ended::TookTooLong => "no end".to_owned(),
    }
}
