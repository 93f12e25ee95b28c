//! The PMPI tools that the configuration names: each becomes a QMPI tool of this name.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use qmpi_elf::SearchPath;
use qmpi_plan::{Config, Layer, Request, variable};
use qmpi_system::log;

/// A configuration of this library's own, where something else reads `QMPI_CONFIG` as well.
const OWN_CONFIG: &str = "QMPI_BRIDGE_CONFIG";

/// The file that a variable names, if one does.
pub(crate) fn path() -> Option<OsString> {
    let named = |variable: &str| std::env::var_os(variable).filter(|path| !path.is_empty());
    named(OWN_CONFIG).or_else(|| named(variable::CONFIG))
}

/// The tools of the file that `QMPI_BRIDGE_CONFIG` or `QMPI_CONFIG` names, with their settings. What is wrong with it ends the process.
pub(crate) fn layers() -> &'static [Layer] {
    static LAYERS: OnceLock<Vec<Layer>> = OnceLock::new();
    LAYERS.get_or_init(|| {
        let Some(path) = path() else { return Vec::new() };
        let config = Config::read(&PathBuf::from(path)).and_then(|config| resolve(&config));
        config.unwrap_or_else(|error| log::fatal(&error.to_string(), Some(error.hint())))
    })
}

/// All sections, whatever the order: the order is the MPI library's business.
fn resolve(config: &Config) -> Result<Vec<Layer>, qmpi_plan::PlanError> {
    let with_file = config.tools.iter().filter(|(_, tool)| !tool.registered);
    let names: Vec<&str> = with_file.map(|(name, _)| name.as_str()).collect();
    let tool_path = std::env::var(variable::TOOL_PATH).ok();
    let request = Request { tool_list: Some(names.join(",")), tool_path, ..Request::default() };
    let find = |name: &str| SearchPath::from_process().find_by_name(name);
    Ok(request.resolve_with(config, &find)?.layers)
}
