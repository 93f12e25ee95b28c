//! Files of layers that the program opens itself, or that are needed by a library which it opens: a module for Python that is linked with its
//! tool, a program that asks its tool for numbers.
//!
//! Preloaded, such a file is there already, and `ld.so` finds it by its SONAME or its inode. In a stack it is in a namespace, so a
//! library of addresses stands for it, from the moment on in which the program asks for it; the file itself would be a second tool, which
//! sees no calls. What stands for it has all that the tool defines but functions of MPI, and is not in the global scope: there `dlsym`
//! finds what the outermost tool exports in any case.
//!
//! Not seen: that a library is found by a search and is a layer's, or needs one; that one is needed by what an opened library needs.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use qmpi_dynamic::LinkerLock;
use qmpi_elf::write::provider::Life;
use qmpi_elf::{ElfFile, Tool};
use qmpi_system::{Locked, log};

use crate::image::Image;
use crate::link_map::Handle;
use crate::process::scope_end;
use crate::stand_ins;

/// A file of a layer.
struct LayerFile {
    /// Device and inode.
    identity: (u64, u64),
    soname: Option<String>,
    handle: Handle,
    /// What stands for it, under the name by which `ld.so` knows that.
    stands: Option<&'static CStr>,
}

/// The innermost layer's first. Locked under `ld.so`'s lock only, so it is never waited for.
static PARTS: Locked<Vec<LayerFile>> = Locked::new(Vec::new());

/// The files of a tool have been loaded as `handles`.
pub(crate) fn loaded(tool: &Tool, handles: &[Handle], _: &LinkerLock) {
    let part = |(file, handle): (&ElfFile, &Handle)| LayerFile {
        identity: file.identity(),
        soname: file.soname().map(str::to_owned),
        handle: *handle,
        stands: None,
    };
    let parts = tool.closure.parts().zip(handles).map(part);
    PARTS.lock().extend(parts);
}

/// What the program's `dlopen` is to open in place of `name`, which is a layer's file. What is needed by another one is made.
pub(super) fn instead_of(name: &CStr, _: &LinkerLock) -> Option<&'static CStr> {
    let mut parts = PARTS.lock();
    if parts.is_empty() {
        return None;
    }
    // A name without a slash is compared with SONAMEs, then searched for.
    if !name.to_bytes().contains(&b'/') {
        return named(&mut parts, name.to_bytes()).and_then(LayerFile::stand);
    }
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let asked = ElfFile::identity_at(path)?;
    if let Some(part) = parts.iter_mut().rev().find(|part| part.identity == asked) {
        return part.stand();
    }
    if parts.iter().any(|part| part.stands.is_none() && part.soname.is_some()) {
        for needed in ElfFile::needed_by(path).ok()? {
            named(&mut parts, &needed).and_then(LayerFile::stand);
        }
    }
    None
}

/// The outermost of this SONAME.
fn named<'a>(parts: &'a mut [LayerFile], soname: &[u8]) -> Option<&'a mut LayerFile> {
    parts.iter_mut().rev().find(|part| part.soname.as_deref().is_some_and(|known| known.as_bytes() == soname))
}

impl LayerFile {
    fn stand(&mut self) -> Option<&'static CStr> {
        if self.stands.is_none() {
            let image = self.handle.map().and_then(Image::of_map)?;
            let symbols = stand_ins::symbols(&image, self.handle, |name| qmpi_abi::classify_c(name).is_none());
            let defined = scope_end::define(&stand_ins::name(&image), &symbols, libc::RTLD_LOCAL, Life::Forever)
                .inspect_err(|error| {
                    log::warn(&format!("{} is loaded a second time: {error}", image.path().display()), None);
                });
            self.stands = defined.ok().and_then(Handle::map).map(|map| map.name());
        }
        self.stands
    }
}
