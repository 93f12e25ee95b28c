//! A view of memory that is never read beyond its end: a pointer and a length, because a slice would promise that other threads write
//! nothing behind a table in the same segment.
//!
//! # Safety
//! All reads of this crate happen here. The creator of a view promises that its bytes stay readable; each access is compared
//! with the length first.
#![expect(unsafe_code, reason = "reads memory through raw pointers, inside of checked bounds")]

use core::ffi::CStr;
use core::fmt;
use core::marker::PhantomData;

use libc::Elf64_Sym;

/// Bytes of a file that was read, or of a mapped segment.
#[derive(Clone, Copy)]
pub struct Bytes<'a> {
    start: *const u8,
    len: usize,
    memory: PhantomData<&'a [u8]>,
}

// SAFETY: the view only reads, as a shared slice.
unsafe impl Send for Bytes<'_> {}
// SAFETY: threads that share it read the same bytes, which nothing writes to.
unsafe impl Sync for Bytes<'_> {}

/// Types that any bytes are a value of.
///
/// # Safety
/// No padding, no invalid values, no pointers.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer of one byte.
unsafe impl Plain for u8 {}
// SAFETY: an integer of two bytes.
unsafe impl Plain for u16 {}
// SAFETY: an integer of four bytes.
unsafe impl Plain for u32 {}
// SAFETY: an integer of eight bytes.
unsafe impl Plain for u64 {}
// SAFETY: integers that leave no gap: 4 + 1 + 1 + 2 + 8 + 8 bytes.
unsafe impl Plain for Elf64_Sym {}
// SAFETY: an array of such values has no padding either.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

impl<'a> Bytes<'a> {
    /// No bytes.
    pub const EMPTY: Bytes<'static> = Bytes { start: core::ptr::null(), len: 0, memory: PhantomData };

    /// The `len` bytes at `start`.
    ///
    /// # Safety
    /// All of them are readable as long as `'a` lasts, and those of tables are not written to.
    pub const unsafe fn new(start: *const u8, len: usize) -> Bytes<'a> {
        Bytes { start, len, memory: PhantomData }
    }

    /// How many.
    #[inline]
    pub const fn len(self) -> usize {
        self.len
    }

    /// None?
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The address of the first.
    #[inline]
    pub fn address(self) -> usize {
        self.start.addr()
    }

    /// All behind the first `count`; none if there are not so many.
    #[inline]
    pub const fn skip(self, count: usize) -> Bytes<'a> {
        match self.len.checked_sub(count) {
            Some(len) => Bytes { start: self.start.wrapping_add(count), len, memory: PhantomData },
            None => Bytes { len: 0, ..self },
        }
    }

    /// At most the first `count`.
    #[inline]
    pub const fn up_to(self, count: usize) -> Bytes<'a> {
        if count < self.len { Bytes { len: count, ..self } } else { self }
    }

    /// Exactly the first `count`; `None` if there are not so many.
    #[inline]
    pub const fn first(self, count: usize) -> Option<Bytes<'a>> {
        if count <= self.len { Some(Bytes { len: count, ..self }) } else { None }
    }

    /// The value at a byte offset, aligned or not; `None` beyond the end.
    #[inline]
    pub fn read<T: Plain>(self, at: usize) -> Option<T> {
        let end = at.checked_add(size_of::<T>())?;
        if end > self.len {
            return None;
        }
        let value = self.start.wrapping_add(at).cast::<T>();
        // SAFETY: the end was compared with the length of the view, whose bytes are readable; any bytes are a value of a `Plain` type.
        Some(unsafe { value.read_unaligned() })
    }

    /// Value number `index` of a table of such values.
    #[inline]
    pub fn entry<T: Plain>(self, index: usize) -> Option<T> {
        self.read(index.checked_mul(size_of::<T>())?)
    }

    /// Copies them to the beginning of `to`, as far as there is room.
    pub fn copy_to(self, to: &mut [u8]) {
        let len = self.len.min(to.len());
        // SAFETY: both have room for as many; one of them is borrowed by this function alone.
        unsafe { core::ptr::copy_nonoverlapping(self.start, to.as_mut_ptr(), len) };
    }

    /// The NUL-terminated string at an offset; `None` if it starts or ends outside.
    pub fn string(self, at: usize) -> Option<&'a CStr> {
        let rest = self.skip(at);
        let len = rest.first_nul()?;
        // SAFETY: the bytes up to the NUL were read; strings of tables are not written to.
        let bytes = unsafe { core::slice::from_raw_parts(rest.start, len.checked_add(1)?) };
        // SAFETY: the last byte is the first NUL.
        Some(unsafe { CStr::from_bytes_with_nul_unchecked(bytes) })
    }

    /// The place of the first NUL. Eight bytes at once: start-up measures thousands of names, and `strlen` may be the function of a
    /// sanitizer that is not ready.
    fn first_nul(self) -> Option<usize> {
        let mut at = 0_usize;
        while let Some(word) = self.read::<u64>(at) {
            let zeros = zeros(word);
            if zeros != 0 {
                return at.checked_add((zeros.trailing_zeros() / u8::BITS) as usize);
            }
            at = at.checked_add(size_of::<u64>())?;
        }
        while self.read::<u8>(at)? != 0 {
            at = at.checked_add(1)?;
        }
        Some(at)
    }

    /// Is `text` the NUL-terminated string at an offset? Stops where they differ.
    pub fn is_string(self, at: usize, text: &[u8]) -> bool {
        let mut rest = self.skip(at);
        let (words, bytes) = text.as_chunks::<{ size_of::<u64>() }>();
        for word in words {
            let word = u64::from_ne_bytes(*word);
            if rest.read::<u64>(0) != Some(word) || zeros(word) != 0 {
                return false;
            }
            rest = rest.skip(size_of::<u64>());
        }
        for byte in bytes {
            if rest.read::<u8>(0) != Some(*byte) || *byte == 0 {
                return false;
            }
            rest = rest.skip(1);
        }
        rest.read::<u8>(0) == Some(0)
    }
}

/// Not 0 if one of the eight bytes of a word is. The lowest bit that is set belongs to the first such byte; what is above it may be
/// wrong.
#[inline]
fn zeros(word: u64) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGH: u64 = u64::from_ne_bytes([0x80; 8]);
    let word = u64::from_le(word);
    word.wrapping_sub(LOW) & !word & HIGH
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    fn from(slice: &'a [u8]) -> Bytes<'a> {
        Bytes { start: slice.as_ptr(), len: slice.len(), memory: PhantomData }
    }
}

impl fmt::Debug for Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes at {:#x}", self.len, self.address())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let bytes = Bytes::from(&b"\x01\x02\x03\x04abc\0de"[..]);
        assert_eq!(bytes.read::<u32>(0), Some(0x0403_0201));
        assert_eq!(bytes.read::<u16>(1), Some(0x0302));
        assert_eq!(bytes.read::<u64>(3), None);
        assert_eq!(bytes.read::<u8>(usize::MAX), None);
        assert_eq!(bytes.entry::<u64>(usize::MAX), None);
        assert_eq!(bytes.string(4), Some(c"abc"));
        assert_eq!(bytes.string(7), Some(c""));
        assert_eq!(bytes.string(8), None);
        assert_eq!(bytes.string(usize::MAX), None);
        assert!(bytes.is_string(4, b"abc") && bytes.is_string(5, b"bc") && bytes.is_string(7, b""));
        assert!(!bytes.is_string(4, b"ab") && !bytes.is_string(4, b"abcd") && !bytes.is_string(4, b"abc\0de"));
        assert!(!bytes.is_string(8, b"de") && !bytes.is_string(99, b""));
        // Names that are longer than a word, and end before, at and behind the end of one.
        for len in 1..40 {
            let mut table = vec![b'x'; len];
            table.extend(b"\0yyyyyyyyy");
            for at in 0..=len {
                let bytes = Bytes::from(&table[..]);
                let (name, rest) = (&table[at..len], &table[at..]);
                assert_eq!(bytes.string(at).map(CStr::to_bytes), Some(name));
                assert!(bytes.is_string(at, name) && !bytes.is_string(at, &rest[..name.len() + 1]));
                assert!(!bytes.is_string(at, &[name, b"x"].concat()));
                assert_eq!(Bytes::from(name).string(0), None);
            }
        }
        let two = Bytes::from(&b"abcdefg\0hijklmnopq\0"[..]);
        assert!(two.is_string(0, b"abcdefg") && !two.is_string(0, b"abcdefg\0hijklmnopq"), "a NUL in a whole word");
        let mut copy = [9; 4];
        bytes.skip(4).copy_to(&mut copy);
        assert_eq!(copy, *b"abc\0");
        bytes.skip(10).copy_to(&mut copy);
        assert_eq!(copy[1..], *b"bc\0");
        assert_eq!(bytes.skip(11).len(), 0);
        assert_eq!(bytes.skip(7).up_to(2).len(), 2);
        assert!(bytes.first(11).is_none() && bytes.first(10).is_some());
    }
}
