//! The process that crashes, which waits in its signal handler and sends what it is asked for (`qmpi_ring::crash`).
#![expect(unsafe_code, reason = "a descriptor from the command line, and a struct as bytes")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;

use qmpi_ring::crash::{Crash, DATA, LAYOUT, PACKET, Request};
use rustix::net::{RecvFlags, SendFlags, recv, send};

const PAGE: u64 = 4096;

/// Its memory, as far as it can be read.
pub struct Process {
    socket: OwnedFd,
    /// Pages that were asked for.
    pages: RefCell<HashMap<u64, Option<Vec<u8>>>>,
}

impl Process {
    /// The process at the other end of a descriptor, and what it says at once.
    ///
    /// # Errors
    /// When there is none, or one of another build.
    pub fn at(descriptor: RawFd) -> io::Result<(Process, Crash)> {
        // SAFETY: the descriptor that the process has opened for this command.
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut bytes = [0; size_of::<Crash>()];
        let (length, _) = recv(&socket, &mut bytes, RecvFlags::empty())?;
        // SAFETY: a struct of integers, of which all values are valid; the bytes are as many.
        let crash = unsafe { bytes.as_ptr().cast::<Crash>().read_unaligned() };
        if length != bytes.len() || crash.layout != LAYOUT {
            return Err(io::Error::other("libqmpi_crash.so is of another build"));
        }
        Ok((Process { socket, pages: RefCell::default() }, crash))
    }

    fn ask(&self, address: u64, length: u64) -> io::Result<()> {
        let request = Request { address, length };
        let bytes = [request.address.to_ne_bytes(), request.length.to_ne_bytes()].concat();
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// One packet; `None`: the end.
    fn answer(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; PACKET + 1];
        let (length, _) = recv(&self.socket, &mut bytes[..], RecvFlags::empty()).ok()?;
        if length == 1 && bytes[0] == DATA {
            // An emulator (qemu) sends what can be read, and says behind it that it was not all: the end comes, too.
            return self.answer();
        }
        (length > 0 && bytes[0] == DATA).then(|| bytes[1..length].to_vec())
    }

    /// `/proc/PID/maps`
    #[must_use]
    pub fn maps(&self) -> String {
        let mut text = Vec::new();
        if self.ask(0, 0).is_ok() {
            while let Some(part) = self.answer() {
                text.extend(part);
            }
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// So many bytes at an address; `None` if not all can be read.
    #[must_use]
    pub fn read(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        let end = address.checked_add(length as u64)?;
        let mut bytes = Vec::with_capacity(length);
        let mut page = address / PAGE * PAGE;
        while page < end {
            let mut pages = self.pages.borrow_mut();
            if !pages.contains_key(&page) {
                self.fetch(page, end, &mut pages);
            }
            let content = pages.get(&page)?.as_ref()?;
            let from = address.saturating_sub(page) as usize;
            let to = (end - page).min(PAGE) as usize;
            bytes.extend_from_slice(content.get(from..to)?);
            page = page.checked_add(PAGE)?;
        }
        Some(bytes)
    }

    /// Asks for the pages up to `end` at once, and for one alone if some cannot be read.
    fn fetch(&self, page: u64, end: u64, pages: &mut HashMap<u64, Option<Vec<u8>>>) {
        let room = (PACKET as u64 - PAGE) / PAGE * PAGE;
        let wanted = (end.next_multiple_of(PAGE) - page).min(room);
        let ask = |length| self.ask(page, length).ok().and_then(|()| self.answer());
        let bytes = ask(wanted).or_else(|| if wanted > PAGE { ask(PAGE) } else { None });
        match bytes {
            None => drop(pages.insert(page, None)),
            Some(bytes) => {
                for (content, place) in bytes.chunks(PAGE as usize).zip((page..).step_by(PAGE as usize)) {
                    pages.insert(place, Some(content.to_vec()));
                }
            }
        }
    }

    /// A word.
    #[must_use]
    pub fn word(&self, address: u64) -> Option<u64> {
        let bytes = self.read(address, 8)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    }

    /// A C string, of a page at most.
    #[must_use]
    pub fn string(&self, address: u64) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < PAGE as usize {
            let place = address.checked_add(text.len() as u64)?;
            let rest = (PAGE - place % PAGE) as usize;
            let bytes = self.read(place, rest)?;
            match bytes.iter().position(|byte| *byte == 0) {
                Some(end) => {
                    text.extend_from_slice(&bytes[..end]);
                    return Some(text);
                }
                None => text.extend(bytes),
            }
        }
        None
    }

    /// The value of a variable, in the list at `environment`.
    #[must_use]
    pub fn variable(&self, environment: u64, name: &str) -> Option<OsString> {
        let entries = (0..10_000).map_while(|place| self.word(environment.checked_add(place * 8)?));
        let mut texts = entries.take_while(|entry| *entry != 0).filter_map(|entry| self.string(entry));
        let prefix = format!("{name}=");
        texts.find_map(|text| Some(OsString::from_vec(text.strip_prefix(prefix.as_bytes())?.to_vec())))
    }
}
