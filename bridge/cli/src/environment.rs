//! The variables that a stack consists of, as the MPI processes will read them.

pub mod crash_report;
pub mod preload;
pub mod runtime;
pub mod tunables;

use std::ffi::OsString;
use std::path::Path;

use qmpi_plan::preload::VARIABLE as LD_PRELOAD;
use qmpi_plan::{Config, Layer, LogLevel, OnError, Processes, variable};

use self::crash_report::CrashReport;
use crate::Error;
use crate::args::{LoadArgs, MeasureArgs};
use crate::plan::request::Resolved;

/// One variable for the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// What the variables are made of, besides the stack.
pub struct Ingredients<'a> {
    /// `libqmpi.so`.
    pub runtime: &'a Path,
    /// The command that reports crashes, if that is asked for.
    pub crash: Option<&'a CrashReport>,
    /// `--ctl` and `--all-processes`.
    pub load: LoadArgs,
    /// `--stats`, `--report[=DIR]` and `--trace[=N]`.
    pub measure: &'a MeasureArgs,
    /// Bytes of static TLS that the tools need together.
    pub static_tls: u64,
    /// Whether an entry of `LD_PRELOAD` is an MPI library.
    pub is_mpi: &'a dyn Fn(&str) -> bool,
    /// The environment to start from.
    pub get: &'a dyn Fn(&str) -> Option<OsString>,
}

/// All variables to set, in a fixed order.
///
/// # Errors
/// [`Error::Unlistable`] and [`Error::Preload`] for paths that a list cannot carry; [`Error::Stack`] for others.
pub fn variables(resolved: &Resolved, with: &Ingredients<'_>) -> Result<Vec<Variable>, Error> {
    let config = resolved.config.as_ref();
    let mut variables = vec![Variable {
        name: variable::TOOL_LIST,
        value: tool_list(&resolved.stack.layers, Some(&resolved.settings))?,
    }];
    let mut set = |name, value| variables.push(Variable { name, value });
    if let Some((path, _)) = config {
        set(variable::CONFIG, text(path, variable::CONFIG)?);
    }
    if resolved.needs_site() {
        let files =
            resolved.site.iter().map(|file| text(file, variable::SITE_CONFIG)).collect::<Result<Vec<_>, _>>()?;
        set(variable::SITE_CONFIG, files.join(":"));
    }
    // Defaults are not spelled out: whoever reads the variables sees what is special.
    if resolved.stack.on_error != OnError::default() {
        set(variable::ON_ERROR, resolved.stack.on_error.to_string());
    }
    if resolved.stack.log != LogLevel::default() {
        set(variable::LOG, resolved.stack.log.to_string());
    }
    let processes = if with.load.all_processes { Processes::All } else { resolved.stack.processes };
    if processes != Processes::default() {
        set(variable::PROCESSES, processes.as_str().to_owned());
    }
    if with.load.ctl {
        set(variable::CTL, "1".to_owned());
    }
    if let Some(directory) = &with.measure.directory() {
        set(variable::REPORT, text(&qmpi_plan::lookup::absolute(directory)?, variable::REPORT)?);
    }
    if let Some(limit) = &with.measure.trace {
        set(variable::TRACE, limit.0.clone());
    }
    if let Some(crash) = with.crash {
        set(variable::CRASH_REPORT, text(&crash.command, variable::CRASH_REPORT)?);
    }
    let existing = |name| (with.get)(name).map(|value| value.to_string_lossy().into_owned());
    if let Some(value) = tunables::with_static_tls(existing("GLIBC_TUNABLES").as_deref(), with.static_tls) {
        set("GLIBC_TUNABLES", value);
    }
    let library = with.crash.map(|crash| crash.library.as_path());
    let value = preload::with_runtime(existing(LD_PRELOAD).as_deref(), with.runtime, library, with.is_mpi)?;
    set(LD_PRELOAD, value);
    Ok(variables)
}

/// The layers as a tool list that needs no search: `NAME=PATH`, or `PATH` where the name is the file's.
fn tool_list(layers: &[Layer], config: Option<&Config>) -> Result<String, Error> {
    let elements = layers.iter().map(|layer| element(layer, config)).collect::<Result<Vec<_>, _>>()?;
    Ok(elements.join(","))
}

fn element(layer: &Layer, config: Option<&Config>) -> Result<String, Error> {
    if layer.is_name_only() {
        return Ok(layer.name.clone());
    }
    let fault = |why| Error::Unlistable { layer: layer.label.clone(), path: layer.path.clone(), why };
    let path = layer.path.to_str().ok_or_else(|| fault("it is not valid UTF-8"))?;
    if path.contains([',', ':']) || path.trim() != path {
        // The processes read the same configuration file, and find the path there.
        let section = config.and_then(|config| config.tools.get(&layer.name));
        if section.is_some_and(|section| section.path.as_ref() == Some(&layer.path)) {
            return Ok(layer.name.clone());
        }
        return Err(fault("a `,`, a `:` or a blank at its end separates the tools of a list"));
    }
    let file = layer.path.file_name().and_then(|file| file.to_str());
    Ok(if file == Some(&layer.name) { path.to_owned() } else { format!("{}={path}", layer.name) })
}

fn text(path: &Path, variable: &'static str) -> Result<String, Error> {
    path.to_str().map(str::to_owned).ok_or(Error::Stack(qmpi_plan::Error::NotUnicode { variable }))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use qmpi_plan::{Origin, Stack};

    fn layer(name: &str, path: &str) -> Layer {
        Layer {
            label: name.into(),
            name: name.into(),
            path: path.into(),
            env: Vec::new(),
            functions: None,
            ranks: None,
            pcontrol: true,
            share: Vec::new(),
            wraps: qmpi_plan::Wraps::default(),
            with: Vec::new(),
            own_calls: qmpi_plan::OwnCalls::Visible,
            switch: None,
        }
    }

    fn resolved(layers: Vec<Layer>) -> Resolved {
        let stack = Stack {
            layers,
            on_error: OnError::Skip,
            log: LogLevel::Info,
            processes: Processes::Mpi,
            origin: Origin::ToolList,
            skipped: Vec::new(),
            unresolved: Vec::new(),
            program_pmpi: qmpi_plan::ProgramPmpi::Auto,
            passed_over: None,
        };
        Resolved { stack, named: BTreeMap::new(), config: None, site: Vec::new(), settings: Config::default() }
    }

    #[test]
    fn everything_that_can_be_set() {
        let resolved = resolved(vec![layer("outer", "/o/libx.so"), layer("libx.so", "/o/libx.so")]);
        let with = Ingredients {
            runtime: Path::new("/q/libqmpi.so"),
            crash: Some(&CrashReport { command: "/q/qmpi".into(), library: "/q/libqmpi_crash.so".into() }),
            load: LoadArgs { ctl: true, all_processes: true, crash_report: true },
            measure: &MeasureArgs { stats: true, report: Some("/r".into()), trace: Some("7".parse().unwrap()) },
            static_tls: 1000,
            is_mpi: &|_| false,
            get: &|name| (name == "LD_PRELOAD").then(|| "a.so".into()),
        };
        let set = variables(&resolved, &with).unwrap();
        let set: Vec<(&str, &str)> = set.iter().map(|variable| (variable.name, variable.value.as_str())).collect();
        assert_eq!(
            set,
            [
                ("QMPI_TOOL_LIST", "outer=/o/libx.so,/o/libx.so"),
                ("QMPI_ON_ERROR", "skip"),
                ("QMPI_LOG", "info"),
                ("QMPI_PROCESSES", "all"),
                ("QMPI_CTL", "1"),
                ("QMPI_REPORT", "/r"),
                ("QMPI_TRACE", "first:7"),
                ("QMPI_CRASH_REPORT", "/q/qmpi"),
                ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=1536"),
                ("LD_PRELOAD", "a.so:/q/libqmpi.so:/q/libqmpi_crash.so"),
            ]
        );
    }

    #[test]
    fn paths_that_a_list_cannot_carry() {
        let colon = layer("x", "/a:b/libx.so");
        assert!(matches!(element(&colon, None), Err(Error::Unlistable { .. })));
        let config = Config::parse(Path::new("/c/q.toml"), "[tool.x]\npath = \"/a:b/libx.so\"").unwrap();
        assert_eq!(element(&colon, Some(&config)).unwrap(), "x");
        assert!(element(&layer("x", "/a,b"), None).is_err());
    }

    #[test]
    fn a_file_name_with_an_equals_sign() {
        assert_eq!(element(&layer("a=b.so", "/x/a=b.so"), None).unwrap(), "/x/a=b.so");
    }
}
