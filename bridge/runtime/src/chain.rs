//! Who comes after whom: the next link of every function below each layer.
//!
//! `next(i, f)` is the first layer below `i` that intercepts `f`, else the MPI library. It is worked out from the
//! innermost layer outwards, once, and every edge is an address from then on.

use qmpi_abi::FnId;
use qmpi_loader::{Loaded, Process};

use crate::entry::FUNCTIONS;
use crate::{finalize, stats};

/// The chain as far as it is built: from the MPI library up to the layer pushed last.
pub(crate) struct Chain {
    /// The address of the topmost link for each function, 0 where there is none.
    links: Box<[usize]>,
    layers: Vec<Loaded>,
}

impl Chain {
    /// The MPI library alone.
    pub(crate) fn new(process: &Process) -> Chain {
        let mut links = vec![0; FUNCTIONS].into_boxed_slice();
        stats::column("MPI");
        for id in FnId::all() {
            links[id.index()] = process.real(id).map_or(0, |address| stats::counted(id, address));
        }
        Chain { links, layers: Vec::new() }
    }

    /// Puts a layer on top.
    pub(crate) fn push(&mut self, layer: Loaded) {
        stats::column(&layer.instance.label);
        for (id, address) in &layer.entries {
            self.links[id.index()] = stats::counted(*id, *address);
        }
        self.layers.push(layer);
    }

    /// The topmost links.
    pub(crate) fn links(&self) -> &[usize] {
        &self.links
    }

    /// The layers, innermost first.
    pub(crate) fn layers(&self) -> &[Loaded] {
        &self.layers
    }

    /// Watches the way of `MPI_Finalize` past the topmost link.
    pub(crate) fn watch_finalize(&mut self, station: finalize::Station) {
        let Some(id) = FnId::by_name("MPI_Finalize") else { return };
        let link = &mut self.links[id.index()];
        if *link != 0 {
            *link = finalize::watch(*link, station);
        }
    }
}
