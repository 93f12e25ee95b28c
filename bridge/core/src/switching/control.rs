//! The words that say which layers are on, in memory that `qmpi ctl` can write to ([`qmpi_plan::control`]).
#![expect(unsafe_code, reason = "makes a file in memory and maps it")]

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use qmpi_plan::control::{Control, LEN, MAGIC, NAME, OFF, ON};
use qmpi_system::{file_limit, log};

use crate::qmpi::ToolId;

/// The words of this process.
pub(super) struct SwitchWords(&'static Control);

/// Programs expect low numbers for the descriptors that they open themselves.
const LOWEST_DESCRIPTOR: libc::c_int = 200;

fn mapped() -> io::Result<&'static Control> {
    file_limit::check(LEN as u64)?;
    let name = std::ffi::CString::new(NAME).map_err(io::Error::other)?;
    // SAFETY: the name is a C string.
    let low = owned(unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) })?;
    // SAFETY: duplicates a descriptor.
    let high = unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR) };
    // Above the limit of the process there is none.
    let file = File::from(owned(high).unwrap_or(low));
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.set_len(LEN as u64)?;
    // What is mapped stays: a file that becomes shorter would be a SIGBUS.
    let seals = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
    // SAFETY: changes the file alone.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new addresses, chosen by the kernel.
    let address = unsafe { libc::mmap(ptr::null_mut(), LEN, protection, libc::MAP_SHARED, file.as_raw_fd(), 0) };
    if address == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    // It stays open: that is how it is found.
    std::mem::forget(file);
    // SAFETY: so many bytes, zero at first, which are never unmapped; all fields are atomic and any value is one of theirs.
    Ok(unsafe { &*address.cast::<Control>() })
}

fn owned(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: made just now, and owned by nothing else.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

impl SwitchWords {
    /// Makes the words. Where no file can be had they are there, but not for other processes.
    pub(super) fn new() -> SwitchWords {
        let control = mapped().unwrap_or_else(|error| {
            log::warn(&format!("`qmpi ctl` will not work: no file in memory: {error}"), None);
            // SAFETY: all fields are atomic numbers, for which zeros are a value.
            Box::leak(Box::new(unsafe { std::mem::zeroed() }))
        });
        for (byte, value) in control.magic.iter().zip(MAGIC) {
            byte.store(value, Ordering::Release);
        }
        SwitchWords(control)
    }

    /// The word that is not 0 once a layer has been off.
    pub(super) fn active(&self) -> &'static AtomicU32 {
        &self.0.active
    }

    /// Adds a layer and returns the word of its state; `None`: there is no room.
    pub(super) fn add(&self, tool: ToolId, label: &str, enabled: bool) -> Option<&'static AtomicU32> {
        let index = self.0.count.load(Ordering::Relaxed) as usize;
        let word = self.0.layers.get(index)?;
        word.tool.store(tool.0.unsigned_abs(), Ordering::Relaxed);
        for (byte, value) in word.label.iter().zip(label.bytes()) {
            byte.store(value, Ordering::Relaxed);
        }
        self.set(index, enabled);
        self.0.count.fetch_add(1, Ordering::Release);
        Some(&word.state)
    }

    /// Switches layer `index` off or on.
    pub(super) fn set(&self, index: usize, enabled: bool) {
        if !enabled {
            self.0.active.store(1, Ordering::SeqCst);
        }
        self.0.layers[index].state.store(if enabled { ON } else { OFF }, Ordering::SeqCst);
    }

    /// Is layer `index` on?
    pub(super) fn is_on(&self, index: usize) -> bool {
        self.0.layers[index].state.load(Ordering::SeqCst) == ON
    }
}
