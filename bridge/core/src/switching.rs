//! Layers that are switched off and on while the program runs: which can be, and who changes what.
//!
//! `loader/src/links/switch.rs` says what a layer that is off does not see. A layer with a filter is one that some calls find off. A stack without such a layer has nothing of this.

mod control;
mod filters;
mod functions;
mod handles;
mod interface;
mod others;

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use control::Words;
use handles::HandleKind;
use qmpi_links::requests::{self, MAX_SWITCHES};
use qmpi_links::require_stub;
use qmpi_links::switch::Switch;
use qmpi_loader::Process;
use qmpi_plan::{Layer, Switching, variable};
use qmpi_system::log;

use crate::chain::ToolId;

pub(crate) use functions::{SwitchedLink, SwitchedLinks};
pub(crate) use interface::{disable, enable, is_enabled, set_function, set_function_name};
pub(crate) use others::behind_switch;

/// The words of this process, and the layers' numbers in the order of their words.
struct Switches {
    words: &'static Words,
    tools: Vec<ToolId>,
}

static SWITCHES: Mutex<Option<Switches>> = Mutex::new(None);

/// How this layer is switched, if it can be: by its settings, or as all are (`qmpi run --ctl`).
fn wanted(layer: &Layer) -> Option<Switching> {
    let all = || std::env::var_os(variable::CTL).is_some_and(|value| !value.is_empty() && value != "0");
    layer.switch.clone().or_else(|| all().then_some(Switching::ON))
}

/// Prepares for the layers that can be switched. `false`: there is none.
pub(crate) fn prepare<'a>(process: &Process, layers: impl Iterator<Item = &'a Layer>) -> bool {
    let count = layers.filter(|layer| wanted(layer).is_some()).count();
    if count == 0 {
        return false;
    }
    if count > MAX_SWITCHES {
        let text = format!("{count} layers that can be switched off are too many: {MAX_SWITCHES} are the most");
        log::fatal(&text, Some("write switch = true into the sections of fewer tools"));
    }
    let words = control::make();
    require_stub(requests::prepare(REQUESTS.of(process), words.active()));
    *SWITCHES.lock().unwrap_or_else(PoisonError::into_inner) = Some(Switches { words, tools: Vec::new() });
    true
}

/// The switch of this layer, if it can be switched.
pub(crate) fn add(process: &Process, tool: ToolId, layer: &Layer) -> Option<Switch> {
    let wanted = wanted(layer)?;
    let mut switches = SWITCHES.lock().unwrap_or_else(PoisonError::into_inner);
    let switches = switches.as_mut()?;
    let state = switches.words.add(tool, &layer.label, wanted.enabled)?;
    switches.tools.push(tool);
    let filter = wanted.filter.map(|filter| {
        // Some calls go past it from the start.
        switches.words.active().store(1, Ordering::SeqCst);
        filters::made(process, &filter)
    });
    Some(Switch::new(switches.tools.len() - 1, state, filter))
}

/// How MPIs represent requests.
const REQUESTS: HandleKind =
    HandleKind { mpich: 0x2c00_0000, abi: 0x180, open_mpi: c"ompi_request_null", from_fortran: "MPI_Request_f2c" };
