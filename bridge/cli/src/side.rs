//! The two sides: a tool under plain `LD_PRELOAD`, or a stack.

use std::ffi::OsString;
use std::path::PathBuf;

use qmpi_launch::environment::of_process;
use qmpi_launch::program;
use qmpi_launch::rank_start::RankStart;
use qmpi_measured::compare::SideFacts;
use qmpi_plan::{LargeCountCalls, SettingWord, variable};

use crate::args::{CompareArgs, RuntimeArgs, StackArgs, VerbosityArgs};
use crate::plan::layer::InspectedLayer;
use crate::plan::{self, CheckedStack};
use crate::{Error, LaunchError, terminal};

/// One of the two.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    /// What the comparison has to know of it.
    pub(crate) facts: SideFacts,
    /// What is in front of each rank: of a native side the tool in `LD_PRELOAD`, behind what it is loaded with, and variables of its section.
    pub(crate) start: RankStart,
    /// Variables of `qmpi run`.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
    /// Options of `qmpi run`. A native side has nothing of ours.
    pub(crate) options: Option<Vec<OsString>>,
    pub(crate) files: Vec<PathBuf>,
    pub(crate) masks: Vec<String>,
}

impl Side {
    fn new(name: &'static str, what: String, checked: CheckedStack) -> Self {
        let fortran = checked.layers.iter().flat_map(InspectedLayer::fortran).collect();
        Self {
            facts: SideFacts { name, what, fortran, with_threads: with_threads(&checked.layers) },
            start: RankStart::default(),
            variables: Vec::new(),
            options: None,
            files: checked.layers.iter().map(|layer| layer.path().to_owned()).collect(),
            masks: checked.resolved.config.map(|(_, config)| config.mask).unwrap_or_default(),
        }
    }

    /// The files of its tools, and those that are loaded with them.
    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        self.files.iter().chain(&self.start.preload).cloned().collect()
    }
}

/// What makes two sides.
const FORMS: &str = "write --native -t TOOL, --old TOOL --new TOOL, or -c FILE --with FILE";

/// Both sides, the one that is right by definition first.
pub(crate) fn both(args: &CompareArgs) -> Result<[Side; 2], Error> {
    let of = |tools: &[String], config: &Option<PathBuf>| StackArgs {
        tools: tools.to_vec(),
        config: config.clone(),
        exact: true,
    };
    let (tools, config) = (&args.tools, &args.config);
    let (old, new) = match (&args.old, &args.new, &args.with, args.native) {
        (Some(old), Some(new), None, _) if tools.is_empty() => {
            (of(std::slice::from_ref(old), config), of(std::slice::from_ref(new), config))
        }
        (None, None, Some(_), _) if config.is_some() => (of(tools, config), of(tools, &args.with)),
        (None, None, None, true) => (of(tools, config), of(tools, config)),
        (None, None, None, false) => return Err(Error::usage("nothing to compare with", FORMS)),
        _ => return Err(Error::usage("these options make no two sides", FORMS)),
    };
    let names = match (args.native, &args.old, &args.with) {
        (true, None, None) => ["native", "bridge"],
        _ => ["old", "new"],
    };
    if !args.native {
        return Ok([stack(names[0], old, &args.command)?, stack(names[1], new, &args.command)?]);
    }
    // Under LD_PRELOAD it sees no such calls.
    let (native, mut bridge) = (native(names[0], &old, &args.command)?, stack(names[1], new, &args.command)?);
    bridge.variables.push((variable::LARGE_COUNTS, LargeCountCalls::Past.word()));
    bridge.facts.what += ", with large_counts = \"past\"";
    Ok([native, bridge])
}

fn stack(name: &'static str, asked: StackArgs, command: &[OsString]) -> Result<Side, Error> {
    let config = asked.config.as_deref().map(qmpi_plan::lookup::absolute).transpose()?;
    let asked = StackArgs { config, ..asked };
    let (checked, tools) = checked(&asked, command)?;
    let labels: Vec<&str> = checked.layers.iter().map(InspectedLayer::label).collect();
    let what =
        if labels.is_empty() { "an empty stack".to_owned() } else { format!("{} in a stack", labels.join(", ")) };
    Ok(Side { options: Some(StackArgs { tools, ..asked }.options()), ..Side::new(name, what, checked) })
}

/// What `qmpi run` would refuse is refused before anything is run; what it warns of is said once. The stack, and its elements as they mean the
/// same in another directory.
fn checked(asked: &StackArgs, command: &[OsString]) -> Result<(CheckedStack, Vec<String>), Error> {
    let mut checked = plan::check(asked, command, VerbosityArgs::default(), &of_process)?;
    let elements = plan::elements(&checked.variables(&RuntimeArgs::default(), &of_process)?);
    let survey = program::find(command, of_process("PATH").as_deref(), &checked.search)?;
    checked.check_command(survey.program.as_ref(), command)?;
    checked.check_mpis()?;
    terminal::warn_once(checked.warnings.iter().chain(&survey.warnings));
    Ok((checked, elements))
}

fn native(name: &'static str, asked: &StackArgs, command: &[OsString]) -> Result<Side, Error> {
    let (checked, _) = checked(asked, command)?;
    let [layer] = &checked.layers[..] else {
        return Err(Error::usage(
            format!("--native has one tool, and there are {}", checked.layers.len()),
            "LD_PRELOAD takes one PMPI tool; compare stacks by -c FILE --with FILE",
        ));
    };
    if !layer.is_bridged() {
        return Err(Error::usage(
            format!("--native: {} is a {} tool, which cannot be preloaded alone", layer.label(), layer.kind()),
            "compare it with the PMPI tool that it comes from: --old TOOL --new TOOL",
        ));
    }
    let preload = [layer.layer().settings.with.clone(), vec![layer.path().to_owned()]].concat();
    let unusable = preload.iter().find(|path| path.to_str().is_none_or(|text| text.contains([' ', ':'])));
    if let Some(path) = unusable {
        return Err(LaunchError::Preload(path.clone()).into());
    }
    let what = format!("{} under LD_PRELOAD", layer.label());
    let variable = layer.layer().settings.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let start = RankStart { preload, variable, ..RankStart::default() };
    Ok(Side { start, ..Side::new(name, what, checked) })
}

/// The first tool that starts threads, by itself or by a library that it is linked with. Those of C++, Fortran and OpenMP can, and do not
/// where the tool does not ask.
fn with_threads(layers: &[InspectedLayer]) -> Option<String> {
    let starts = |name: &str| {
        ["pthread_create", "thrd_create", "clone", "clone3"].contains(&name)
            || ["_ZNSt6thread15_M_start_thread", "GOMP_parallel", "GOMP_task", "__kmpc_fork_call"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let is_runtime = |name: &str| {
        ["libstdc++.so", "libc++.so", "libgfortran.so", "libgomp.so", "libomp.so", "libiomp5.so"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    let has_threads = |layer: &&InspectedLayer| {
        let objects = layer.planned.tool().into_iter().flat_map(|tool| &tool.closure.objects);
        let mut others = objects.filter(|object| !is_runtime(object.soname().unwrap_or_default()));
        others.any(|object| object.imports().any(|symbol| starts(symbol.name)))
    };
    layers.iter().find(has_threads).map(|layer| layer.label().to_owned())
}
