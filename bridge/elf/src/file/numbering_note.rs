//! The note that `qmpi.h` leaves in a tool: by which numbers the tool means functions.
//!
//! ```text
//! .note.qmpi   05 00 00 00   length of the name
//!              04 00 00 00   length of what follows it
//!              01 00 00 00   type: the numbering
//!              "QMPI" 0      and zeroes up to a multiple of four
//!              4c 62 62 02   MPICH_NUMVERSION of the mpi.h, 40002300; or one of the two below
//! ```
//!
//! A note rather than a symbol: no visibility, version script or `--gc-sections` takes it away, and parts of a tool that
//! were compiled with different headers leave one each, so that it shows.

use std::fmt;

use qmpi_abi::numbering::{Numbering, release};
use qmpi_dynamic::Bytes;

const NAME: [u8; 5] = *b"QMPI\0";
const TYPE: u32 = 1;
/// Where `mpi.h` does not number functions: `qmpi.h` does.
const OWN: u32 = 0;
/// Of tools that look at run time which MPI there is.
const OF_PROCESS: u32 = u32::MAX;

/// By which numbers a part of a tool means functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberingNote {
    /// Those of `qmpi.h`.
    Own,
    /// Those of the MPI in the process.
    OfProcess,
    /// Those of the MPICH with this `MPICH_NUMVERSION`.
    Mpich(u32),
}

impl NumberingNote {
    /// The notes in a segment of notes with this alignment (gABI, "Note Section"), each once.
    pub fn collect(mut notes: Bytes<'_>, align: u64, found: &mut Vec<NumberingNote>) {
        // GNU properties are aligned to eight bytes, all other notes to four, whatever the segment says.
        let align = if align == 8 { 8 } else { 4 };
        while let Some([name, text, kind]) = notes.read::<[u32; 3]>(0) {
            let text_at = 12_usize.saturating_add(name as usize).next_multiple_of(align);
            let is_ours = name as usize == NAME.len() && kind == TYPE && notes.read(12) == Some(NAME);
            let value = notes.skip(text_at).first(text as usize).filter(|_| is_ours).and_then(|text| text.read(0));
            found.extend(value.map(NumberingNote::of).filter(|note| !found.contains(note)));
            notes = notes.skip(text_at.saturating_add(text as usize).next_multiple_of(align));
        }
    }

    /// What the note's value stands for.
    pub fn of(value: u32) -> NumberingNote {
        match value {
            OWN => NumberingNote::Own,
            OF_PROCESS => NumberingNote::OfProcess,
            number => NumberingNote::Mpich(number),
        }
    }

    /// The numbering; `of_process` is the process's. That of an MPICH that is not known is [`Numbering::UNKNOWN`].
    pub fn numbering(self, of_process: &'static Numbering) -> &'static Numbering {
        match self {
            NumberingNote::Own => Numbering::OWN,
            NumberingNote::OfProcess => of_process,
            NumberingNote::Mpich(number) => Numbering::for_mpich_number(number).unwrap_or(Numbering::UNKNOWN),
        }
    }
}

impl fmt::Display for NumberingNote {
    /// The MPI or header that the numbers are of: "MPICH 4.0.2".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberingNote::Own => f.write_str("qmpi.h"),
            NumberingNote::OfProcess => f.write_str("the MPI that runs"),
            NumberingNote::Mpich(number) => {
                let (major, minor, patch) = release(*number);
                write!(f, "MPICH {major}.{minor}.{patch}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(name: &[u8], kind: u32, text: &[u8], align: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in [name.len() as u32, text.len() as u32, kind] {
            bytes.extend(word.to_le_bytes());
        }
        for part in [name, text] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(align), 0);
        }
        bytes
    }

    fn collected(bytes: &[u8], align: u64) -> Vec<NumberingNote> {
        let mut found = Vec::new();
        NumberingNote::collect(Bytes::from(bytes), align, &mut found);
        found
    }

    #[test]
    fn among_others_and_each_once() {
        let build_id = note(b"GNU\0", 3, &[7; 20], 4);
        let old = note(&NAME, 1, &40_002_300_u32.to_le_bytes(), 4);
        let own = note(&NAME, 1, &[0; 4], 4);
        let notes = [build_id.clone(), old.clone(), note(&NAME, 2, &[1; 4], 4), old, own, build_id].concat();
        assert_eq!(collected(&notes, 4), [NumberingNote::Mpich(40_002_300), NumberingNote::Own]);
        assert_eq!(NumberingNote::Mpich(40_002_300).to_string(), "MPICH 4.0.2");
        let aligned = [note(b"GNU\0", 5, &[1; 12], 8), note(&NAME, 1, &[0xff; 4], 8)].concat();
        assert_eq!(collected(&aligned, 8), [NumberingNote::OfProcess]);
    }

    #[test]
    fn damaged_ones_are_no_notes() {
        let whole = note(&NAME, 1, &[0; 4], 4);
        for end in 0..whole.len() {
            assert_eq!(collected(&whole[..end], 4), [], "{end}");
        }
        for text in [[0xff; 12].as_slice(), &[0; 12], &[0; 40]] {
            assert_eq!(collected(text, 4), []);
        }
        assert_eq!(collected(&note(&NAME, 1, &[0; 3], 4), 4), []);
    }
}
