//! What tools intercept that register themselves: they are loaded in a process of their own, and asked.
//!
//! That process is this command again (`qmpi survey`, not in the help), with the runtime preloaded. What the two say to each
//! other is described in `survey.rs` of the core, which `surveyed.rs` calls there.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use qmpi_launch::environment::{of_process, runtime, tunables};
use qmpi_plan::variable;

use crate::plan::layer::{self, InspectedLayer, RegisteredFunctions};

/// How long tools may take to be loaded.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks all tools that register themselves; the answers by their place in the stack.
pub(crate) fn ask(layers: &[InspectedLayer]) -> BTreeMap<usize, RegisteredFunctions> {
    let asked: Vec<(usize, &InspectedLayer)> =
        layers.iter().enumerate().filter(|(_, layer)| !layer.is_bridged()).collect();
    if asked.is_empty() {
        return BTreeMap::new();
    }
    let (text, why) = match start(&asked, layers) {
        Ok(child) => wait(child),
        Err(why) => (String::new(), why),
    };
    let mut found: BTreeMap<usize, RegisteredFunctions> = text.lines().filter_map(answer).collect();
    for (place, _) in asked {
        found.entry(place).or_insert_with(|| RegisteredFunctions::Unknown(why.clone()));
    }
    found
}

fn start(asked: &[(usize, &InspectedLayer)], layers: &[InspectedLayer]) -> Result<Child, String> {
    let runtime = runtime::find(&of_process).map_err(|error| error.to_string())?;
    let line = |(place, layer): &(usize, &InspectedLayer)| {
        let (kind, name) = (layer.kind(), &layer.layer().name);
        // A name alone: another tool of the list may register it.
        let path = if layer.layer().is_name_only() { "" } else { layer.path().to_str()? };
        (!path.contains(['\t', '\n'])).then(|| format!("{}\t{kind}\t{name}\t{path}", place + 1))
    };
    let lines: Vec<String> = asked.iter().filter_map(line).collect();
    // The target of a link: the core is where the runtime's own file is.
    let core = runtime.canonicalize().unwrap_or_else(|_| runtime.clone()).with_file_name(runtime::CORE);
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.arg("survey").arg(core).arg(lines.join("\n")).env("LD_PRELOAD", runtime);
    for name in [variable::TOOL_LIST, variable::CONFIG, variable::REPORT, variable::THESIS_TOOLS] {
        command.env_remove(name);
    }
    let existing = std::env::var_os("GLIBC_TUNABLES").map(|value| value.to_string_lossy().into_owned());
    if let Some(value) = tunables::with_static_tls(existing.as_deref(), layer::static_tls(layers)) {
        command.env("GLIBC_TUNABLES", value);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().map_err(|error| error.to_string())
}

/// What it said, and why it said no more.
fn wait(mut child: Child) -> (String, String) {
    let (sender, receiver) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        // Apart, as a process that a tool has left behind may keep the pipe open.
        std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = stdout.read(&mut part) {
                if sender.send(part[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
    }
    let end = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < end => std::thread::sleep(Duration::from_millis(2)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
        }
    };
    // The process's last output may not have been read yet. Another process with the pipe writes no answers.
    let mut text = Vec::new();
    while let Ok(part) = receiver.recv_timeout(Duration::from_secs(1)) {
        text.extend(part);
    }
    let why = match status {
        None => format!("loading the tools takes more than {} seconds", PATIENCE.as_secs()),
        Some(status) if status.success() => "the runtime does not answer".to_owned(),
        Some(status) => format!("loading the tools ended the process ({status})"),
    };
    (String::from_utf8_lossy(&text).into_owned(), why)
}

fn answer(line: &str) -> Option<(usize, RegisteredFunctions)> {
    let mut words = line.strip_prefix(variable::SURVEY_ANSWER)?.strip_prefix('\t')?.split('\t');
    let place = words.next()?.parse::<usize>().ok()?.checked_sub(1)?;
    let (sign, text) = (words.next()?, words.next()?);
    let functions = || text.split_whitespace().map(str::to_owned).collect();
    Some((
        place,
        if sign == "+" {
            RegisteredFunctions::Functions(functions())
        } else {
            RegisteredFunctions::Unknown(text.to_owned())
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let functions = RegisteredFunctions::Functions(vec!["MPI_Init".into(), "MPI_Send".into()]);
        assert_eq!(answer("qmpi-survey\t2\t+\tMPI_Init MPI_Send"), Some((1, functions)));
        assert_eq!(answer("qmpi-survey\t1\t+\t"), Some((0, RegisteredFunctions::Functions(Vec::new()))));
        assert_eq!(answer("qmpi-survey\t1\t-\tit is ill"), Some((0, RegisteredFunctions::Unknown("it is ill".into()))));
        for line in ["", "qmpi 0.1.0", "qmpi-survey\t0\t+\tx", "qmpi-survey\t1", "qmpi-survey\tx\t+\ty"] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}
