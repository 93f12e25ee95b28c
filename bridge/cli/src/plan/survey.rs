//! What tools intercept that register themselves: they are loaded in a process of their own, and asked.
//!
//! That process is this command again (`qmpi survey`, not in the help), with the runtime preloaded. What the two say to each
//! other is described in `survey.rs` of the core, which `surveyed.rs` calls there.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::{Command, Stdio};
use std::time::Duration;

use qmpi_launch::environment::{of_process, runtime, tunables};
use qmpi_measured::ended::{self, Ended};
use qmpi_plan::variable;
use tempfile::NamedTempFile;

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
    let (text, why) = load(&asked, layers).unwrap_or_else(|error| (String::new(), error.to_string()));
    let mut found: BTreeMap<usize, RegisteredFunctions> = text.lines().filter_map(answer).collect();
    for (place, _) in asked {
        found.entry(place).or_insert_with(|| Err(why.clone()));
    }
    found
}

/// Loads them. What they answer, and why they answer no more.
fn load(asked: &[(usize, &InspectedLayer)], layers: &[InspectedLayer]) -> Result<(String, String), Box<dyn Error>> {
    let runtime = runtime::find(&of_process)?;
    let line = |(place, layer): &(usize, &InspectedLayer)| {
        let (kind, name) = (layer.kind(), &layer.layer().name);
        // A name alone: another tool of the list may register it.
        let path = if layer.layer().is_name_only() { "" } else { layer.path().to_str()? };
        (!path.contains(['\t', '\n'])).then(|| format!("{}\t{kind}\t{name}\t{path}", place + 1))
    };
    let lines: Vec<String> = asked.iter().filter_map(line).collect();
    // The target of a link: the core is where the runtime's own file is.
    let core = runtime.canonicalize().unwrap_or_else(|_| runtime.clone()).with_file_name(runtime::CORE);
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("survey").arg(core).arg(lines.join("\n")).env("LD_PRELOAD", runtime);
    for name in [variable::TOOL_LIST, variable::CONFIG, variable::REPORT, variable::THESIS_TOOLS] {
        command.env_remove(name);
    }
    let existing = std::env::var_os("GLIBC_TUNABLES").map(|value| value.to_string_lossy().into_owned());
    if let Some(value) = tunables::with_static_tls(existing.as_deref(), layer::static_tls(layers)) {
        command.env("GLIBC_TUNABLES", value);
    }
    // No pipe: a process that a tool has left behind may keep it open.
    let answers = NamedTempFile::new()?;
    let mut child = command.stdin(Stdio::null()).stdout(answers.reopen()?).stderr(Stdio::null()).spawn()?;
    let ended = ended::wait(&mut child, Some(PATIENCE), |child, _| child.kill())?;
    let why = match child.wait()? {
        _ if ended == Ended::TookTooLong => format!("loading the tools takes more than {} seconds", PATIENCE.as_secs()),
        status if status.success() => "the runtime does not answer".to_owned(),
        status => format!("loading the tools ended the process ({status})"),
    };
    Ok((String::from_utf8_lossy(&std::fs::read(answers.path())?).into_owned(), why))
}

fn answer(line: &str) -> Option<(usize, RegisteredFunctions)> {
    let mut words = line.strip_prefix(variable::SURVEY_ANSWER)?.strip_prefix('\t')?.split('\t');
    let place = words.next()?.parse::<usize>().ok()?.checked_sub(1)?;
    let (sign, text) = (words.next()?, words.next()?);
    let functions = || text.split_whitespace().map(str::to_owned).collect();
    Some((place, if sign == "+" { Ok(functions()) } else { Err(text.to_owned()) }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers() {
        let functions = Ok(vec!["MPI_Init".into(), "MPI_Send".into()]);
        assert_eq!(answer("qmpi-survey\t2\t+\tMPI_Init MPI_Send"), Some((1, functions)));
        assert_eq!(answer("qmpi-survey\t1\t+\t"), Some((0, Ok(Vec::new()))));
        assert_eq!(answer("qmpi-survey\t1\t-\tit is ill"), Some((0, Err("it is ill".into()))));
        for line in ["", "qmpi 0.1.0", "qmpi-survey\t0\t+\tx", "qmpi-survey\t1", "qmpi-survey\tx\t+\ty"] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}
