//! The functions of layers that can be switched, and the links to them: to exchange one is to write a word of each link.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;

use crate::qmpi::ToolId;

/// A link to a function of a layer.
pub(crate) struct SwitchedLink {
    /// Where it leads.
    pub(crate) target: &'static AtomicUsize,
    /// Makes what stands there for another function of the layer: the function, or a stub in front of it.
    pub(crate) lead_to: Box<dyn Fn(usize) -> usize + Send>,
}

/// The links to one function of a layer.
#[derive(Default)]
struct FunctionLinks {
    address: usize,
    links: Vec<SwitchedLink>,
}

/// Those of all layers that can be switched.
static LINKS: Mutex<Option<HashMap<(ToolId, FnId), FunctionLinks>>> = Mutex::new(None);

/// Adds a link to the function `address` of a layer.
pub(crate) fn add_link(tool: ToolId, id: FnId, address: usize, link: SwitchedLink) {
    let mut all = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    let function = all.get_or_insert_default().entry((tool, id)).or_default();
    // Several versions of a wrapper have links of their own; the first is the one that counts.
    if function.address == 0 {
        function.address = address;
    }
    if function.address == address {
        function.links.push(link);
    }
}

/// Puts `new` in the place of a layer's function and returns the old one; `None`: there is no link to it that could be changed.
pub(crate) fn replace(tool: i32, id: FnId, new: usize) -> Option<usize> {
    let mut all = LINKS.lock().unwrap_or_else(PoisonError::into_inner);
    let function = all.as_mut()?.get_mut(&(ToolId(tool), id))?;
    let stubs: Vec<usize> = function.links.iter().map(|link| (link.lead_to)(new)).collect();
    qmpi_links::publish_stubs();
    for (link, stub) in function.links.iter().zip(stubs) {
        link.target.store(stub, Ordering::Release);
    }
    Some(std::mem::replace(&mut function.address, new))
}
