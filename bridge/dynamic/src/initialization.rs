//! The functions that `ld.so` calls at the beginning of an object, DT_INIT and DT_INIT_ARRAY, and at its end: where the dynamic section
//! names them, so that `ld.so` can be told of others.
//!
//! `ld.so` reads these entries when it is about to call (`elf/dl-init.c: call_init`, `elf/dl-fini.c`), and adds the object's base.
#![expect(unsafe_code, reason = "writes into the dynamic section of loaded objects, and calls their functions")]

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::dynamic::entries;
use crate::mapped::Mapped;
use crate::rebind::{Unprotected, word_at};
use crate::tags::{DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ, DT_INIT, DT_INIT_ARRAY, DT_INIT_ARRAYSZ};

const WORD: usize = size_of::<usize>();

/// What `ld.so` passes to constructors.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Arguments {
    /// How many there are.
    pub count: c_int,
    /// Those of `main`.
    pub values: *const *const c_char,
    /// The environment.
    pub environment: *const *const c_char,
}

/// One of an object's entries: where its value is, and what that was.
#[derive(Debug, Clone, Copy)]
struct Entry {
    place: usize,
    value: usize,
}

/// The functions of an object that `ld.so` calls, at its beginning or at its end.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    object: Mapped<'a>,
    /// DT_INIT or DT_FINI.
    single: Option<Entry>,
    /// The array, and how many bytes it has.
    array: Option<(Entry, Entry)>,
}

impl<'a> Called<'a> {
    /// Its constructors; `None`: it has none. They are under their tags with the bits `mark` set.
    pub fn at_begin(object: Mapped<'a>, mark: u64) -> Option<Called<'a>> {
        Called::of(object, DT_INIT | mark, DT_INIT_ARRAY | mark, DT_INIT_ARRAYSZ | mark)
    }

    /// Its destructors; `None`: it has none.
    pub fn at_end(object: Mapped<'a>) -> Option<Called<'a>> {
        Called::of(object, DT_FINI, DT_FINI_ARRAY, DT_FINI_ARRAYSZ)
    }

    fn of(object: Mapped<'a>, single: u64, array: u64, size: u64) -> Option<Called<'a>> {
        let section = object.segments().dynamic_section()?;
        // Of two entries with one tag the last counts.
        let entry = |wanted: u64| {
            let (index, value) = entries(section)
                .enumerate()
                .filter(|(_, (tag, _))| *tag == wanted)
                .map(|(index, (_, value))| (index, value))
                .last()?;
            let place = index.checked_mul(2 * WORD)?.checked_add(WORD)?.checked_add(section.address())?;
            place.is_multiple_of(WORD).then_some(Entry { place, value: usize::try_from(value).ok()? })
        };
        let called = Called { object, single: entry(single), array: entry(array).zip(entry(size)) };
        (called.single.is_some() || called.array.is_some()).then_some(called)
    }

    /// Has `ld.so` call the function in the word `instead` and no other, if there is one; else none. An object that `ld.so` has not
    /// relocated yet (`is_relocated`) is left writable, for `ld.so` goes on to write. Returns whether that was possible.
    ///
    /// # Safety
    /// The object stays loaded, and `ld.so` reads its entries in no other thread meanwhile.
    pub unsafe fn replace(&self, instead: Option<&'static AtomicUsize>, is_relocated: bool) -> bool {
        extern "C" fn nothing() {}
        let nothing = (nothing as *const ()).addr();
        let base = self.object.segments().base();
        let function = instead.map_or(nothing, |word| word.load(Ordering::Relaxed));
        let all = match self.array {
            Some((array, size)) => {
                let (address, bytes) = instead.map_or((None, 0), |word| (Some(word.as_ptr().addr()), WORD));
                let address = address.map(|address| (array, address.wrapping_sub(base)));
                [address, Some((size, bytes)), self.single.map(|entry| (entry, nothing.wrapping_sub(base)))]
            }
            None => [self.single.map(|entry| (entry, function.wrapping_sub(base))), None, None],
        };
        // SAFETY: as this function's.
        unsafe { self.write(all, is_relocated) }
    }

    /// Has `ld.so`, which has relocated the object, call what it would have called. Returns whether that was possible.
    ///
    /// # Safety
    /// As [`Called::replace`].
    pub unsafe fn restore(&self) -> bool {
        let (array, size) = self.array.unzip();
        // SAFETY: as this function's.
        unsafe { self.write([self.single, array, size].map(|entry| entry.map(|entry| (entry, entry.value))), true) }
    }

    unsafe fn write(&self, all: [Option<(Entry, usize)>; 3], is_relocated: bool) -> bool {
        let segments = self.object.segments();
        let relro = segments.relro();
        let may_write = |entry: &Entry| {
            segments.is_writable(entry.place) || relro.as_ref().is_some_and(|relro| relro.contains(&entry.place))
        };
        if !all.iter().flatten().all(|(entry, _)| may_write(entry)) {
            return false;
        }
        let unprotected = Unprotected::new(&self.object);
        for (entry, value) in all.into_iter().flatten() {
            // SAFETY: an aligned word of the dynamic section, which can be written to now.
            unsafe { word_at(entry.place) }.store(value, Ordering::Relaxed);
        }
        if !is_relocated {
            core::mem::forget(unprotected);
        }
        true
    }

    /// The address of DT_INIT or DT_FINI.
    pub fn single(&self) -> Option<usize> {
        self.single.map(|entry| self.object.segments().base().wrapping_add(entry.value))
    }

    /// Calls them as `ld.so` does: DT_INIT, then the array from its beginning.
    ///
    /// # Safety
    /// They are constructors, and it is time to call them.
    pub unsafe fn construct(&self, arguments: Arguments) {
        let segments = self.object.segments();
        let call = |address: usize| {
            let function = core::ptr::with_exposed_provenance::<()>(address);
            type Constructor = extern "C" fn(c_int, *const *const c_char, *const *const c_char);
            // SAFETY: `ld.so` would have called it in the same way.
            let function = unsafe { core::mem::transmute::<*const (), Constructor>(function) };
            function(arguments.count, arguments.values, arguments.environment);
        };
        if let Some(entry) = self.single {
            call(segments.base().wrapping_add(entry.value));
        }
        let Some((array, size)) = self.array else { return };
        for offset in (0..size.value & !(WORD - 1)).step_by(WORD) {
            let place = segments.base().wrapping_add(array.value).wrapping_add(offset);
            // SAFETY: a word of the array, which is in the object.
            call(unsafe { word_at(place) }.load(Ordering::Relaxed));
        }
    }
}
