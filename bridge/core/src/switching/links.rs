//! The functions of layers that can be switched, and the links to them: to exchange one is to write a word of each link.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_system::Locked;

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
static LINKS: Locked<BTreeMap<(ToolId, FnId), FunctionLinks>> = Locked::new(BTreeMap::new());

/// Adds a link to the function `address` of a layer.
pub(crate) fn add_link(tool: ToolId, id: FnId, address: usize, link: SwitchedLink) {
    let mut all = LINKS.lock();
    let function = all.entry((tool, id)).or_default();
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
    let mut all = LINKS.lock();
    let function = all.get_mut(&(ToolId(tool), id))?;
    let stubs: Vec<usize> = function.links.iter().map(|link| (link.lead_to)(new)).collect();
    qmpi_links::publish_stubs();
    for (link, stub) in function.links.iter().zip(stubs) {
        link.target.store(stub, Ordering::Release);
    }
    Some(std::mem::replace(&mut function.address, new))
}
