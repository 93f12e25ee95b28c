//! `qmpi tools`: which tools are known by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use qmpi_launch::environment::of_process;
use qmpi_plan::lookup::{self, absolute};
use qmpi_plan::request::site;
use qmpi_plan::{Config, variable};
use serde::Serialize;

use crate::Error;
use crate::args::ToolsArgs;
use crate::terminal;

/// A tool that a name leads to.
#[derive(Debug, Serialize)]
struct NamedTool {
    name: String,
    path: PathBuf,
    /// The configuration file, or the directory of names.
    from: PathBuf,
    about: Option<String>,
    is_there: bool,
}

pub(crate) fn tools(args: &ToolsArgs) -> Result<(), Error> {
    let mut files = site::files(&of_process)?;
    let own = args
        .config
        .clone()
        .or_else(|| std::env::var_os(variable::CONFIG).filter(|path| !path.is_empty()).map(PathBuf::from));
    files.extend(own.map(|path| absolute(&path)).transpose()?);
    let tool_path =
        std::env::var_os(variable::TOOL_PATH).map(|value| value.to_string_lossy().into_owned()).unwrap_or_default();
    let known = known(&files, &tool_path)?;
    if args.json {
        return terminal::answer(&terminal::json(&known)?);
    }
    let width = known.iter().map(|tool| tool.name.chars().count()).max().unwrap_or(0);
    let line = |tool: &NamedTool| {
        let missing = if tool.is_there { "" } else { "  (missing)" };
        let path = tool.path.display();
        match &tool.about {
            Some(about) => format!("{:width$}  {about}\n{:width$}  {path}{missing}\n", tool.name, ""),
            None => format!("{:width$}  {path}{missing}\n", tool.name),
        }
    };
    let text: String = known.iter().map(line).collect();
    let nothing = "no tool is known by name: a section [tool.NAME] with a `path` makes one known, or a directory of QMPI_TOOL_PATH\n";
    terminal::answer(if text.is_empty() { nothing } else { &text })
}

/// Sections with a path, later files over earlier ones; then files in the directories of names, where no section has the name.
fn known(files: &[PathBuf], tool_path: &str) -> Result<Vec<NamedTool>, Error> {
    let mut known = BTreeMap::new();
    let mut all = Config::default();
    for file in files {
        let config = Config::read(file)?;
        for (name, tool) in &config.tools {
            known.remove(name);
            if let Some(path) = &tool.path {
                let is_there = path.is_file();
                let (path, about) = (path.clone(), tool.about.clone());
                known.insert(name.clone(), NamedTool { name: name.clone(), path, from: file.clone(), about, is_there });
            }
        }
        all = config.over(all);
    }
    let lookup = lookup::Lookup::new(&all, tool_path, &|_| None)?;
    for (name, path) in lookup.in_directories() {
        let from = path.parent().unwrap_or(Path::new("")).to_owned();
        known.entry(name.clone()).or_insert(NamedTool { name, path, from, about: None, is_there: true });
    }
    Ok(known.into_values().collect())
}
