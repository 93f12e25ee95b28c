//! What was found out before the program's libraries were initialized, for the moment behind that: to look at the files of tools takes time.
//!
//! It holds as long as no library has been opened and no tool registered since; constructors do both.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::Arc;

use qmpi_loader::Process;
use qmpi_loader::image::listed::Listed;

use crate::qmpi::native;
use crate::requested::Requested;
use crate::stack::Files;

/// The process, what its environment asks for, and what the layers' files are.
pub(crate) struct Kept {
    pub(crate) process: Arc<Process>,
    pub(crate) requested: Requested,
    pub(crate) files: Files,
}

thread_local! {
    /// The thread that initializes libraries does so at both moments. Never dropped: thread-local objects with a destructor are in a list of
    /// the C library's, which allocates.
    static KEPT: RefCell<Option<ManuallyDrop<(Kept, Listed)>>> = const { RefCell::new(None) };
}

impl Kept {
    /// For the next [`Kept::take`].
    pub(crate) fn keep(self) {
        let listed = Listed::of(self.process.images());
        KEPT.set(Some(ManuallyDrop::new((self, listed))));
    }

    /// What was kept, if it still holds.
    pub(crate) fn take() -> Option<Kept> {
        let (kept, listed) = ManuallyDrop::into_inner(KEPT.take()?);
        let now = listed.since();
        let is_same = now.new_images().is_empty() && now.images().len() == kept.process.images().len();
        (is_same && native::registered_names().is_empty()).then_some(kept)
    }
}
