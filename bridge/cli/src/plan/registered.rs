//! QMPI tools that are named by a path: do their libraries register what they are called? The processes would find out, each of them.
//!
//! A library that registers one tool is that tool, whatever it is called. One that registers several is asked for one of them by its
//! name: then the name is a constant of the file. Only where it is none the tools are loaded and asked, as for `qmpi list`.

use qmpi_elf::ToolKind;
use qmpi_plan::OnError;

use crate::Error;
use crate::plan::layer::InspectedLayer;
use crate::plan::{or_warning, survey};
use crate::terminal;

/// Does each library of QMPI tools register the one that is asked for?
pub(crate) fn check(layers: &[InspectedLayer], on_error: OnError) -> Result<(), Error> {
    if !layers.iter().any(is_doubtful) {
        return Ok(());
    }
    for (place, answer) in survey::ask(layers) {
        let Some(layer) = layers.get(place).filter(|layer| is_doubtful(layer)) else { continue };
        let other = format!(", and not {}", layer.layer().name);
        let Err(reason) = answer else { continue };
        let Some((_, names)) = reason.strip_suffix(&other).and_then(|text| text.split_once(": it registers ")) else {
            continue;
        };
        let (label, path) = (layer.label(), layer.path().display());
        let message = format!("layer `{label}`: {path} registers the tools {names}");
        let first = names.split(',').next().unwrap_or_default();
        let hint = format!("write which of them is meant: -t {first}={path}");
        terminal::warn(&or_warning(on_error, Error::failed(message, hint))?);
    }
    Ok(())
}

/// Is it a QMPI tool in whose file its name is not?
fn is_doubtful(layer: &InspectedLayer) -> bool {
    let is_qmpi = layer.planned.tool().is_some_and(|tool| matches!(tool.kind, ToolKind::Qmpi));
    if !is_qmpi || layer.layer().is_name_only() {
        return false;
    }
    let constant = [layer.layer().name.as_bytes(), b"\0"].concat();
    let file = std::fs::read(layer.path()).unwrap_or_default();
    !file.windows(constant.len()).any(|window| window == constant)
}
