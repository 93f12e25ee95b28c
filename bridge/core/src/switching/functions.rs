//! The functions of layers that can be switched, and the links to them: to exchange one is to write a word of each link.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_abi::FnId;

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
    places: Vec<SwitchedLink>,
}

/// The links to the functions of all layers that can be switched, by the layer's number.
pub(crate) struct SwitchedLinks(Mutex<Option<HashMap<(i32, FnId), FunctionLinks>>>);

/// Those of this process.
pub(super) static LINKS: SwitchedLinks = SwitchedLinks(Mutex::new(None));

impl SwitchedLinks {
    /// Those of this process.
    pub(crate) fn of_process() -> &'static SwitchedLinks {
        &LINKS
    }

    /// Adds a link to the function `address` of a layer.
    pub(crate) fn add(&self, tool: i32, id: FnId, address: usize, place: SwitchedLink) {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let function = links.get_or_insert_default().entry((tool, id)).or_default();
        // Several versions of a wrapper have links of their own; the first is the one that counts.
        if function.address == 0 {
            function.address = address;
        }
        if function.address == address {
            function.places.push(place);
        }
    }

    /// Puts `new` in the place of a layer's function and returns the old one; `None`: there is no link to it that could be changed.
    pub(crate) fn replace(&self, tool: i32, id: FnId, new: usize) -> Option<usize> {
        let mut links = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let function = links.as_mut()?.get_mut(&(tool, id))?;
        let stubs: Vec<usize> = function.places.iter().map(|place| (place.lead_to)(new)).collect();
        qmpi_links::publish_stubs();
        for (place, stub) in function.places.iter().zip(stubs) {
            place.target.store(stub, Ordering::Release);
        }
        Some(std::mem::replace(&mut function.address, new))
    }
}
