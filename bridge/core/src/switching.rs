//! Layers that are switched off and on while the program runs: which can be, and who changes what.
//!
//! `links/src/switch.rs` says what a layer that is off does not see. A layer with a filter is one that some calls find off. A stack without
//! such a layer has nothing of this.
//!
//! | what | file |
//! |---|---|
//! | the words that say which layers are on | `control.rs` |
//! | how this MPI represents requests and communicators, which filters and switches compare | `handles.rs` |
//! | links to functions of layers, which can be exchanged | `links.rs` |

mod control;
mod handles;
mod links;

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use qmpi_links::filter::{CallFilter, Conditions};
use qmpi_links::requests::{self, MAX_SWITCHES};
use qmpi_links::require_stub;
use qmpi_links::switch::Switch;
use qmpi_loader::Process;
use qmpi_loader::process::dlsym;
use qmpi_loader::wrappers::wrapped::LibraryWrapper;
use qmpi_plan::own_calls::other_always_passes_on;
use qmpi_plan::{Filter, Layer, Switching, variable};
use qmpi_system::log;

use crate::qmpi::ToolId;
use control::SwitchWords;

pub(crate) use links::{SwitchedLink, add_link, replace};

/// The words of this process, and the layers' numbers in the order of their words.
struct Switches {
    words: SwitchWords,
    tools: Vec<ToolId>,
}

static SWITCHES: Mutex<Option<Switches>> = Mutex::new(None);

fn switches() -> MutexGuard<'static, Option<Switches>> {
    SWITCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How this layer is switched, if it can be: by its settings, or as all are (`qmpi run --ctl`).
fn wanted(layer: &Layer) -> Option<Switching> {
    let all = || std::env::var_os(variable::CTL).is_some_and(|value| !value.is_empty() && value != "0");
    layer.settings.switch.clone().or_else(|| all().then_some(Switching::ON))
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
    let words = SwitchWords::new();
    require_stub(requests::prepare(handles::requests(process), words.active()));
    *switches() = Some(Switches { words, tools: Vec::new() });
    true
}

/// The switch of this layer, if it can be switched.
pub(crate) fn add(process: &Process, tool: ToolId, layer: &Layer) -> Option<Switch> {
    let wanted = wanted(layer)?;
    let mut switches = switches();
    let switches = switches.as_mut()?;
    let state = switches.words.add(tool, &layer.label, wanted.enabled)?;
    switches.tools.push(tool);
    let filter = wanted.filter.map(|settings| {
        // Some calls go past it from the start.
        switches.words.active().store(1, Ordering::SeqCst);
        filter(process, &settings)
    });
    Some(Switch::new(switches.tools.len() - 1, state, filter))
}

fn filter(process: &Process, settings: &Filter) -> &'static CallFilter {
    let communicators = |names: &Vec<String>| handles::communicators(process, names);
    let conditions = Conditions {
        every: settings.every.get(),
        from: settings.from,
        to: settings.to,
        communicators: settings.communicators.as_ref().map(communicators),
    };
    Box::leak(Box::new(CallFilter::new(conditions)))
}

/// Switches a layer on or off; `None`: there is none of this number that can be switched.
pub(crate) fn set(tool: i32, is_on: bool) -> Option<()> {
    with(tool, |words, index| words.set(index, is_on))
}

/// Is the layer on? `None` as for [`set`].
pub(crate) fn is_on(tool: i32) -> Option<bool> {
    with(tool, SwitchWords::is_on)
}

fn with<T>(tool: i32, work: impl FnOnce(&SwitchWords, usize) -> T) -> Option<T> {
    let switches = switches();
    let Switches { words, tools } = switches.as_ref()?;
    Some(work(words, tools.iter().position(|known| known.0 == tool)?))
}

/// Functions that begin or end what a tool has to know of for as long as it is there: threads, libraries.
const ALWAYS: [&CStr; 5] = [c"dlclose", c"dlmopen", c"dlopen", c"pthread_create", c"thrd_create"];

/// Puts the switch in front of the layer's wrappers of functions that are not MPI's: calls go past them as well. `below`: what each function
/// is below the layer, where a layer wraps it.
///
/// Left as they are: the allocator's functions, since a block may be given back at any time; those that end the process; and
/// functions that nothing else in the process defines.
pub(crate) fn behind_switch(wrapped: &mut [LibraryWrapper], switch: Switch, below: &HashMap<&'static CStr, usize>) {
    for function in wrapped {
        let is_needed = ALWAYS.contains(&function.name) || function.name.to_str().is_ok_and(other_always_passes_on);
        let next = || below.get(function.name).copied().or_else(|| dlsym::global(function.name));
        let Some(next) = (!is_needed).then(next).flatten() else { continue };
        let link = |address: usize| require_stub(switch.other(address, next)).address;
        let old = function.address;
        function.address = link(old);
        for (_, address) in &mut function.versions {
            *address = if *address == old { function.address } else { link(*address) };
        }
    }
}
