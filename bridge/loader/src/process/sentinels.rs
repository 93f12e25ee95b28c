//! Addresses that mean something in Fortran (`MPI_IN_PLACE`, `MPI_BOTTOM`, ...): one for the program, MPI and all tools.
//!
//! They are addresses of variables that the program, MPI's libraries and tools all define: common blocks. The first definition in
//! the search order of a reference is meant. Under `LD_PRELOAD` that is the program's, or else the tool's: both are in the global
//! scope, which the linker searches first for every object, opened with `RTLD_LOCAL` or not.
//!
//! A tool in a namespace is not in that scope. Where no other object there defines what the tool does, the definition that MPI's libraries
//! use in their local scope is added to the global one, or memory for it where MPI's Fortran library is not in the process yet:
//! whatever is opened later binds to it, and so do the tools.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};

use qmpi_elf::Tool;
use qmpi_elf::mpi::mpi_data;
use qmpi_elf::write::provider::{Life, Provided, ProvidedKind};
use qmpi_system::log;

use crate::error::LoadError;
use crate::link_map::{self, Handle};
use crate::process::Process;
use crate::process::{dlsym, scope_end};

/// The SONAME of the library that stands for them.
const SONAME: &str = "libqmpi-sentinels.so";

/// Lets the process's global scope have what PMPI tools define, or refer to, of these variables.
///
/// # Errors
/// When the library that defines them cannot be made or loaded.
pub fn publish<'a>(process: &mut Arc<Process>, tools: impl Iterator<Item = &'a Tool>) -> Result<(), LoadError> {
    let sizes = sizes(tools);
    let mut new: BTreeMap<&'static CStr, usize> = BTreeMap::new();
    for (name, size) in sizes {
        let Ok(name) = CString::new(name) else { continue };
        if process.published.contains_key(name.as_c_str()) || dlsym::global(&name).is_some() {
            continue;
        }
        let _ = link_map::dlerror(); // of the look-up
        let address = match (process.local_sentinel(&name), size) {
            (Some(address), _) => {
                // What is opened after its object was closed would be bound to memory that is gone.
                if let Some(map) = link_map::object_at(address).and_then(Handle::map) {
                    link_map::keep(map.name());
                }
                address
            }
            (None, Some(size)) => storage(size),
            (None, None) => continue,
        };
        new.insert(Box::leak(name.into_boxed_c_str()), address);
    }
    if new.is_empty() {
        return Ok(());
    }
    log::debug(|| format!("{SONAME}: {} variables of Fortran are in the global scope now", new.len()));
    let symbols: Vec<Provided<'_>> =
        new.iter().map(|(name, address)| Provided::new(*name, ProvidedKind::Data, *address)).collect();
    scope_end::define(SONAME, &symbols, libc::RTLD_GLOBAL, Life::Forever)?;
    let process = Arc::make_mut(process);
    process.published.extend(new);
    process.exports = OnceLock::new();
    Ok(())
}

/// The variables by name, and in how many bytes tools define common blocks.
fn sizes<'a>(tools: impl Iterator<Item = &'a Tool>) -> BTreeMap<&'a str, Option<u64>> {
    let mut sizes: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for tool in tools {
        let names = tool.data_imports.iter().chain(&tool.data_definitions).map(String::as_str);
        sizes.extend(names.filter(|name| mpi_data::is_fortran_sentinel(name)).map(|name| (name, None)));
        if !tool.data_definitions.iter().any(|name| mpi_data::is_fortran_common(name)) {
            continue;
        }
        let symbols = tool.closure.objects.iter().flat_map(|object| object.exports());
        for symbol in symbols.filter(|symbol| mpi_data::is_fortran_common(symbol.name)) {
            let size = sizes.entry(symbol.name).or_default();
            *size = (*size).max(Some(symbol.size()));
        }
    }
    sizes
}

/// Memory for a variable of this size, all zero as a common block's. It lives as long as the process.
fn storage(size: u64) -> usize {
    /// As large as the largest alignment that compilers give to common blocks.
    #[repr(align(64))]
    #[derive(Clone)]
    struct CommonBlock(#[expect(dead_code, reason = "its address is what matters")] [u8; 64]);
    let count = usize::try_from(size).unwrap_or(0).div_ceil(64).max(1);
    Box::leak(vec![CommonBlock([0; 64]); count].into_boxed_slice()).as_ptr().addr()
}
