//! The end of the process: what the core does and says when the namespaces of all tools have been finalized.
#![expect(unsafe_code, reason = "a destructor of the library")]

use qmpi_loader::exit;

use crate::{finalize, large_counts, sessions};

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    exit::namespaces_have_ended();
    if !finalize::is_process_of_mpi() {
        return;
    }
    large_counts::say_what_went_past();
    sessions::say_what_was_missed();
    finalize::say_who_kept_it();
}
