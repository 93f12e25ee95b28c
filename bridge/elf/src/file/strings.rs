//! C strings in the loaded contents of a file, for names that a tool looks up at run time.
//!
//! Reads in pieces, so that an MPI library of 40 MB costs no memory.

use std::collections::BTreeSet;
use std::ops::Range;

use goblin::elf::program_header::{PF_W, PF_X, PT_LOAD, ProgramHeader};

use crate::error::ElfError;
use crate::file::image::OpenFile;

const PIECE: u64 = 1 << 18;
/// Longer runs are text or data; no name is.
const LONGEST: usize = 1024;
const SHORTEST: usize = 3;

/// Strings that satisfy `pred`, outside of the file range `excluded`.
pub(crate) fn scan(
    image: &OpenFile,
    excluded: Range<u64>,
    pred: &dyn Fn(&str) -> bool,
) -> Result<BTreeSet<String>, ElfError> {
    let loads = || image.segments.iter().filter(|segment| segment.p_type == PT_LOAD);
    // With separate-code layouts (binutils since 2.31, lld, mold) constants are in a read-only segment
    // and code has only noise; older files have both in one executable segment. GNU ld has two
    // read-only ones then, the first with the ELF header, symbols and relocations.
    let is_plain = |segment: &ProgramHeader| segment.p_flags & (PF_W | PF_X) == 0;
    let plain = loads().filter(|segment| is_plain(segment)).count();
    let holds_constants = |segment: &ProgramHeader| match plain {
        0 => true,
        1 => segment.p_flags & PF_X == 0,
        _ => segment.p_flags & PF_X == 0 && !(is_plain(segment) && segment.p_offset == 0),
    };
    let mut found = BTreeSet::new();
    let mut scanned = 0_u64;
    for segment in loads().filter(|segment| holds_constants(segment)) {
        let end = segment.p_offset.saturating_add(segment.p_filesz).min(image.size);
        // Segments of a sound file overlap by a page at most; thousands of equal ones would take for ever.
        scanned = scanned.saturating_add(end.saturating_sub(segment.p_offset));
        if scanned > image.size.saturating_mul(2) {
            return Err(image.malformed("program header table", "its segments overlap"));
        }
        let before = segment.p_offset..end.min(excluded.start);
        let after = segment.p_offset.max(excluded.end)..end;
        for range in if excluded.is_empty() { [segment.p_offset..end, 0..0] } else { [before, after] } {
            scan_range(image, range, pred, &mut found)?;
        }
    }
    Ok(found)
}

fn scan_range(
    image: &OpenFile,
    range: Range<u64>,
    pred: &dyn Fn(&str) -> bool,
    found: &mut BTreeSet<String>,
) -> Result<(), ElfError> {
    let mut at = range.start;
    while at < range.end {
        let piece = image.read_up_to(at, PIECE.min(range.end - at))?;
        if piece.is_empty() {
            break;
        }
        // What is behind the last NUL is continued by the next piece.
        let whole = match piece.iter().rposition(|&byte| byte == 0) {
            Some(last) => &piece[..=last],
            None => &[],
        };
        for_each_run(whole, |run| {
            let tail = &run[run.len().saturating_sub(LONGEST)..];
            // Binary data in front of a string is not part of it.
            let from = tail.iter().rposition(|byte| !(b' '..=b'~').contains(byte)).map_or(0, |last| last + 1);
            if let Ok(text) = std::str::from_utf8(&tail[from..])
                && text.len() >= SHORTEST
                && pred(text)
            {
                found.insert(text.to_owned());
            }
        });
        if at.saturating_add(piece.len() as u64) >= range.end {
            break;
        }
        // Without any NUL in the piece, go on so that a name across the border is still seen.
        let step = if whole.is_empty() { piece.len().saturating_sub(LONGEST).max(1) } else { whole.len() };
        at = at.saturating_add(step as u64);
    }
    Ok(())
}

/// Every run of at least `SHORTEST` bytes in front of a NUL. Tables of fixed-size names are mostly
/// zeros, so those go by sixteen.
fn for_each_run(bytes: &[u8], mut act: impl FnMut(&[u8])) {
    let mut start = 0;
    while let Some(rest) = bytes.get(start..).filter(|rest| !rest.is_empty()) {
        let zeros = rest.chunks_exact(16).take_while(|chunk| **chunk == [0; 16]).count() * 16;
        let rest = &rest[zeros..];
        start += zeros;
        let length = rest.iter().position(|&byte| byte == 0).unwrap_or(rest.len());
        if length >= SHORTEST {
            act(&rest[..length]);
        }
        start += length + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_between_zeros() {
        let mut bytes = vec![0; 100];
        bytes[17..21].copy_from_slice(b"four");
        bytes[50..52].copy_from_slice(b"tw");
        bytes[94..99].copy_from_slice(b"fives");
        let mut runs = Vec::new();
        for_each_run(&bytes, |run| runs.push(String::from_utf8_lossy(run).into_owned()));
        assert_eq!(runs, ["four", "fives"]);
    }
}
