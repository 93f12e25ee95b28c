//! A symbol's name together with its hash, as `.gnu.hash` has it.
//!
//! A start-up compares thousands of names of one library with those of others, and writes them into provider libraries: the
//! hash is worked out once, and a set of names uses it, too.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use qmpi_dynamic::hash;

/// The name of a symbol.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    hash: u32,
    bytes: &'a [u8],
}

/// Names, looked up by the hash that they have.
pub type Names<'a> = HashSet<Name<'a>, BuildHasherDefault<AsItIs>>;

impl<'a> Name<'a> {
    /// Its bytes.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Its hash.
    pub fn hash(&self) -> u32 {
        self.hash
    }

    /// Can it stand in a string table: is it not empty, and without a NUL byte?
    pub(crate) fn is_sound(&self) -> bool {
        !self.bytes.is_empty() && !self.bytes.contains(&0)
    }
}

impl PartialEq for Name<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.bytes == other.bytes
    }
}

impl Eq for Name<'_> {}

impl<'a> From<&'a [u8]> for Name<'a> {
    fn from(bytes: &'a [u8]) -> Name<'a> {
        Name { hash: hash::gnu(bytes), bytes }
    }
}

impl<'a> From<&'a str> for Name<'a> {
    fn from(name: &'a str) -> Name<'a> {
        Name::from(name.as_bytes())
    }
}

impl<'a> From<&'a CStr> for Name<'a> {
    fn from(name: &'a CStr) -> Name<'a> {
        Name::from(name.to_bytes())
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(self.bytes).fmt(f)
    }
}

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.hash);
    }
}

/// Takes the one number that it is given for the hash, spread over both halves: sets look at the highest bits, too.
#[derive(Debug, Default)]
pub struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_found_whatever_they_were_made_of() {
        let names: Names<'_> = ["MPI_Send", "MPI_Recv", ""].map(Name::from).into_iter().collect();
        assert!(names.contains(&Name::from(c"MPI_Send")));
        assert!(!names.contains(&Name::from(c"MPI_Sendrecv")));
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn the_hash_is_that_of_the_dynamic_linker() {
        // The example of the GNU hash's description.
        assert_eq!(hash::gnu(b""), 5381);
        assert_eq!(hash::gnu(b"printf"), 0x156b_2bb8);
    }

    #[test]
    fn what_cannot_stand_in_a_string_table_is_not_sound() {
        assert!(!Name::from("").is_sound());
        assert!(!Name::from(c"").is_sound());
        assert!(!Name::from("a\0b").is_sound());
        assert!(Name::from(c"a").is_sound());
    }
}
