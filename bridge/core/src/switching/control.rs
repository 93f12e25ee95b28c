//! The words that say which layers are on, in memory that `qmpi ctl` can write to ([`qmpi_plan::control`]).
#![expect(unsafe_code, reason = "maps a file")]

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use qmpi_plan::control::{Control, LEN, MAGIC, NAME, OFF, ON};
use qmpi_system::{file_limit, log};
use rustix::fs::{self, MemfdFlags, Mode, SealFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::mm::{MapFlags, ProtFlags, mmap};

use crate::qmpi::ToolId;

/// The words of this process.
pub(super) struct SwitchWords(&'static Control);

/// Programs expect low numbers for the descriptors that they open themselves.
const LOWEST_DESCRIPTOR: i32 = 200;

fn mapped() -> io::Result<&'static Control> {
    file_limit::check(LEN as u64)?;
    let low = fs::memfd_create(NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    // Above the limit of the process there is none.
    let file = fcntl_dupfd_cloexec(&low, LOWEST_DESCRIPTOR).unwrap_or(low);
    fs::fchmod(&file, Mode::RUSR | Mode::WUSR)?;
    fs::ftruncate(&file, LEN as u64)?;
    // What is mapped stays: a file that becomes shorter would be a SIGBUS.
    fs::fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: new addresses, chosen by the kernel.
    let address = unsafe { mmap(ptr::null_mut(), LEN, protection, MapFlags::SHARED, &file, 0) }?;
    // It stays open: that is how it is found.
    std::mem::forget(file);
    // SAFETY: so many bytes, zero at first, which are never unmapped; all fields are atomic and any value is one of theirs.
    Ok(unsafe { &*address.cast::<Control>() })
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
