//! Where calls enter the stack: at its top, or at a layer that ends and finalizes MPI.

use std::sync::{Once, OnceLock};

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_loader::exit::entrance;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::image::rebind;
use qmpi_loader::process::loader_lock;

use crate::finalize;
use crate::name;
use crate::ring::{is_entry, ring};

/// Where the calls of each function go; 0 for those that a tool of the program gets first, which ends behind all layers.
static TOP: OnceLock<Box<[usize]>> = OnceLock::new();
/// Calls that led past the entry stubs go by way of them.
static THROUGH_STUBS: Once = Once::new();

/// The slots are filled, from these entries of the stack and for tools of the program.
pub(crate) fn filled(mut entries: Box<[usize]>) {
    for id in FnId::all() {
        if ring().get(id) != Some(entries[id.index()]) {
            entries[id.index()] = 0;
        }
    }
    TOP.get_or_init(|| entries);
    entrance::move_by(enter_at);
}

fn enter_at(links: Option<&'static [usize]>) {
    let Some(top) = TOP.get() else { return };
    // Where MPI is finalized, or not in use, it calls nothing.
    let links = links.filter(|_| finalize::is_kept());
    if links.is_some() {
        THROUGH_STUBS.call_once(|| loader_lock::with(|lock| through_stubs(lock, top)));
    }
    for id in FnId::all() {
        let top = top[id.index()];
        let link = links.and_then(|links| links.get(id.index()).copied());
        if top != 0 {
            ring().set(id, link.filter(|link| *link != 0).unwrap_or(top));
        }
    }
}

/// Takes back what `base.rs` has shortened.
fn through_stubs(lock: &LinkerLock, top: &[usize]) {
    let images = Listed::now().into_images();
    let Some(ours) = images.iter().find(|image| is_entry(image)) else { return };
    for image in images.iter().filter(|image| *image != ours) {
        rebind::exchange(lock, image, name::may_be_plain, |reference, held| {
            // Function pointers stay equal to those that others have.
            let id = name::plain_id(reference.name).filter(|_| reference.is_call)?;
            let leads_past = top[id.index()] != 0 && held() == top[id.index()];
            leads_past.then(|| ours.find(reference.name).map(|symbol| symbol.address)).flatten()
        });
    }
}
