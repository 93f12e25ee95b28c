//! The variables that a stack consists of, as the MPI processes will read them.

pub mod preload;
pub mod runtime;
pub mod tunables;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use qmpi_plan::preload::VARIABLE as LD_PRELOAD;
use qmpi_plan::{Config, Layer, Processes, SettingWord, Stack, variable};

use crate::LaunchError;

/// One variable for the child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EnvironmentVariable {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// A variable of this process.
pub fn of_process(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// What the variables are made of.
pub struct Ingredients<'a> {
    /// The layers and what holds for all of them.
    pub stack: &'a Stack,
    /// What the configuration files say together.
    pub settings: &'a Config,
    /// The configuration file, absolute.
    pub config: Option<&'a Path>,
    /// The files of the site, if processes have to read them.
    pub site: &'a [PathBuf],
    /// `libqmpi.so`.
    pub runtime: &'a Path,
    /// `--ctl`.
    pub ctl: bool,
    /// `--all-processes`.
    pub all_processes: bool,
    /// The directory of `--report`.
    pub report: Option<&'a Path>,
    /// `--trace=N`, as the runtime is told.
    pub trace: Option<&'a str>,
    /// Bytes of static TLS that the tools need together.
    pub static_tls: u64,
    /// The environment to start from.
    pub get: &'a dyn Fn(&str) -> Option<OsString>,
}

/// All variables to set, in a fixed order.
///
/// # Errors
/// [`LaunchError::Unlistable`] and [`LaunchError::Preload`] for paths that a list cannot carry; [`LaunchError::Stack`] for others.
pub fn variables(with: &Ingredients<'_>) -> Result<Vec<EnvironmentVariable>, LaunchError> {
    let elements = with.stack.layers.iter().map(|layer| element(layer, with.settings));
    let list = elements.collect::<Result<Vec<_>, _>>()?.join(",");
    let config = with.config.map(|path| text(path, variable::CONFIG)).transpose()?;
    let site = with.site.iter().map(|file| text(file, variable::SITE_CONFIG)).collect::<Result<Vec<_>, _>>()?.join(":");
    let processes = if with.all_processes { Processes::All } else { with.stack.processes };
    let report = with.report.map(|path| text(&qmpi_plan::lookup::absolute(path)?, variable::REPORT)).transpose()?;
    let existing = |name| (with.get)(name).map(|value| value.to_string_lossy().into_owned());
    let tunables = tunables::with_static_tls(existing("GLIBC_TUNABLES").as_deref(), with.static_tls);
    let preload = preload::with_runtime(existing(LD_PRELOAD).as_deref(), with.runtime)?;
    let variables = [
        (variable::TOOL_LIST, Some(&*list)),
        (variable::CONFIG, config.as_deref()),
        (variable::SITE_CONFIG, Some(&*site).filter(|files| !files.is_empty())),
        (variable::ON_ERROR, special(with.stack.on_error)),
        (variable::LARGE_COUNTS, special(with.stack.large_counts)),
        (variable::LOG, special(with.stack.log)),
        (variable::PROCESSES, special(processes)),
        (variable::CTL, with.ctl.then_some("1")),
        (variable::REPORT, report.as_deref()),
        (variable::TRACE, with.trace),
        ("GLIBC_TUNABLES", tunables.as_deref()),
        (LD_PRELOAD, Some(&*preload)),
    ];
    let set = |(name, value): (_, Option<&str>)| Some(EnvironmentVariable { name, value: value?.to_owned() });
    Ok(variables.into_iter().filter_map(set).collect())
}

/// Defaults are not spelled out: whoever reads the variables sees what is special.
fn special<T: SettingWord>(setting: T) -> Option<&'static str> {
    (setting != T::default()).then(|| setting.word())
}

/// A layer in a tool list that needs no search: `NAME=PATH`, or `PATH` where the name is the file's.
fn element(layer: &Layer, settings: &Config) -> Result<String, LaunchError> {
    if layer.is_name_only() {
        return Ok(layer.name.clone());
    }
    let fault = |why| LaunchError::Unlistable { layer: layer.label.clone(), path: layer.path.clone(), why };
    let path = layer.path.to_str().ok_or_else(|| fault("it is not valid UTF-8"))?;
    if path.contains([',', ':']) || path.trim() != path {
        // The processes read the same configuration file, and find the path there.
        let section = settings.tools.get(&layer.name);
        if section.is_some_and(|section| section.path.as_ref() == Some(&layer.path)) {
            return Ok(layer.name.clone());
        }
        return Err(fault("a `,`, a `:` or a blank at its end separates the tools of a list"));
    }
    let file = layer.path.file_name().and_then(|file| file.to_str());
    Ok(if file == Some(&layer.name) { path.to_owned() } else { format!("{}={path}", layer.name) })
}

fn text(path: &Path, variable: &'static str) -> Result<String, LaunchError> {
    path.to_str().map(str::to_owned).ok_or(LaunchError::Stack(qmpi_plan::PlanError::not_unicode(variable)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qmpi_plan::{LogLevel, OnError, StackOrigin};

    fn layer(name: &str, path: &str) -> Layer {
        Layer {
            label: name.into(),
            name: name.into(),
            path: path.into(),
            settings: qmpi_plan::config::ToolConfig::default(),
        }
    }

    fn stack(layers: Vec<Layer>) -> Stack {
        Stack {
            layers,
            on_error: OnError::Skip,
            large_counts: qmpi_plan::LargeCountCalls::Seen,
            log: LogLevel::Info,
            processes: Processes::Mpi,
            origin: StackOrigin::ToolList,
            skipped: Vec::new(),
            unresolved: Vec::new(),
            program_pmpi: qmpi_plan::ProgramPmpi::Auto,
            passed_over: None,
        }
    }

    #[test]
    fn everything_that_can_be_set() {
        let with = Ingredients {
            stack: &stack(vec![layer("outer", "/o/libx.so"), layer("libx.so", "/o/libx.so")]),
            settings: &Config::default(),
            config: None,
            site: &[],
            runtime: Path::new("/q/libqmpi.so"),
            ctl: true,
            all_processes: true,
            report: Some(Path::new("/r")),
            trace: Some("first:7"),
            static_tls: 1000,
            get: &|name| (name == "LD_PRELOAD").then(|| "a.so".into()),
        };
        let set = variables(&with).unwrap();
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
                ("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=1536"),
                ("LD_PRELOAD", "a.so:/q/libqmpi.so"),
            ]
        );
    }

    #[test]
    fn paths_that_a_list_cannot_carry() {
        let colon = layer("x", "/a:b/libx.so");
        assert!(matches!(element(&colon, &Config::default()), Err(LaunchError::Unlistable { .. })));
        let config = Config::parse(Path::new("/c/q.toml"), "[tool.x]\npath = \"/a:b/libx.so\"").unwrap();
        assert_eq!(element(&colon, &config).unwrap(), "x");
        assert!(element(&layer("x", "/a,b"), &Config::default()).is_err());
    }

    #[test]
    fn a_file_name_with_an_equals_sign() {
        assert_eq!(element(&layer("a=b.so", "/x/a=b.so"), &Config::default()).unwrap(), "/x/a=b.so");
    }
}
