//! Changes of an ELF file that know what they change: a field of a table, the order of entries, the length of the file.

use super::parts::{Field, Part};
use super::random::Random;

/// A changed file, and what was changed.
pub(super) struct Mutant {
    pub(super) bytes: Vec<u8>,
    /// For people.
    pub(super) changes: Vec<String>,
}

/// A tag that no linker knows (an odd one of those for environments, gABI, chapter 5, "Dynamic Section").
pub(super) const UNKNOWN_TAG: u64 = 0x6fff_0001;
const DT_NULL: u64 = 0;

impl Mutant {
    /// A copy of a sound file with one to five changes; mostly one, whose effect is not hidden by others.
    pub(super) fn of(bytes: &[u8], parts: &[Part], random: &mut Random) -> Mutant {
        let mut mutant = Mutant { bytes: bytes.to_vec(), changes: Vec::new() };
        loop {
            mutant.change(parts, random);
            if mutant.changes.len() == 5 || random.in_percent(65) {
                return mutant;
            }
        }
    }

    fn change(&mut self, parts: &[Part], random: &mut Random) {
        let part = random.of(parts);
        match random.below(100) {
            0..=2 => self.truncate(random),
            3..=4 => self.append(random),
            5..=12 => self.swap(part, random),
            13..=18 => self.copy(part, random),
            19..=24 => self.overwrite(part, random),
            25..=27 => self.without_end(parts),
            28..=33 => self.remove_entry(parts, random),
            _ => self.change_field(part, random),
        }
    }

    fn note(&mut self, text: String) {
        self.changes.push(text);
    }

    /// Cuts the end off, mostly not more than tables that nothing of ld.so needs.
    fn truncate(&mut self, random: &mut Random) {
        let len = self.bytes.len();
        let cut = if random.in_percent(60) { random.below(len / 4) } else { random.below(len) };
        self.bytes.truncate(len - cut);
        self.note(format!("{cut} bytes cut off from {len}"));
    }

    fn append(&mut self, random: &mut Random) {
        let count = random.below(10_000);
        self.bytes.extend((0..count).map(|_| random.next() as u8));
        self.note(format!("{count} bytes appended"));
    }

    /// Lets two entries change places.
    fn swap(&mut self, part: &Part, random: &mut Random) {
        let (one, other) = (random.below(part.entries()), random.below(part.entries()));
        let (first, second) = (part.field(one, 0).at, part.field(other, 0).at);
        for byte in 0..part.entry() {
            if first.max(second) + byte < self.bytes.len() {
                self.bytes.swap(first + byte, second + byte);
            }
        }
        self.note(format!("{}: entries {one} and {other} swapped", part.name));
    }

    /// Writes one entry over another.
    fn copy(&mut self, part: &Part, random: &mut Random) {
        let (one, other) = (random.below(part.entries()), random.below(part.entries()));
        let (from, to) = (part.field(one, 0).at, part.field(other, 0).at);
        if from.max(to) + part.entry() <= self.bytes.len() {
            self.bytes.copy_within(from..from + part.entry(), to);
        }
        self.note(format!("{}: entry {one} written over entry {other}", part.name));
    }

    /// Writes zeros or noise over some bytes.
    fn overwrite(&mut self, part: &Part, random: &mut Random) {
        let start = part.start + random.below(part.len);
        let end = (start + 1 + random.below(64)).min(part.start + part.len).min(self.bytes.len());
        let zeros = random.in_percent(50);
        for byte in self.bytes.get_mut(start.min(end)..end).into_iter().flatten() {
            *byte = if zeros { 0 } else { random.next() as u8 };
        }
        self.note(format!("{}: {} at {start:#x}..{end:#x}", part.name, if zeros { "zeros" } else { "noise" }));
    }

    /// Writes an unknown tag over each DT_NULL.
    fn without_end(&mut self, parts: &[Part]) {
        for part in parts.iter().filter(|part| part.name == "dynamic section") {
            for entry in 0..part.entries() {
                let tag = part.field(entry, 0);
                if self.get(tag) == Some(DT_NULL) {
                    self.put(tag, UNKNOWN_TAG);
                }
            }
        }
        self.note("dynamic section: no DT_NULL".into());
    }

    /// Writes an unknown tag over that of an entry of the dynamic section.
    fn remove_entry(&mut self, parts: &[Part], random: &mut Random) {
        for part in parts.iter().filter(|part| part.name == "dynamic section") {
            let entry = random.below(part.entries());
            let tag = part.field(entry, 0);
            let old = self.get(tag).unwrap_or_default();
            self.put(tag, UNKNOWN_TAG);
            self.note(format!("dynamic section: entry {entry}, tag {old:#x}, removed"));
        }
    }

    fn change_field(&mut self, part: &Part, random: &mut Random) {
        let entry = random.below(part.entries());
        let number = random.below(part.fields.len());
        let field = part.field(entry, number);
        let Some(old) = self.get(field) else { return self.note(format!("{}: beyond the end", part.name)) };
        let bits = field.size * 8;
        let new = match random.below(8) {
            0 | 1 => old ^ (1 << random.below(bits)),
            2 => random.next(),
            3 => *random.of(&[
                0,
                1,
                2,
                0x7f,
                0xff,
                0x1000,
                0x7fff_ffff,
                u64::MAX,
                u64::MAX >> 1,
                self.bytes.len() as u64,
            ]),
            4 => old.wrapping_add(*random.of(&[1, 2, 4, 8, 16, 24, 0x1000])),
            5 => old.wrapping_sub(*random.of(&[1, 2, 4, 8, 16, 24, 0x1000])),
            6 => self.get(part.field(random.below(part.entries()), number)).unwrap_or_default(),
            _ => *random.of(&[old << 1, old >> 1, old << 8, old >> 8]),
        };
        self.put(field, new);
        let new = self.get(field).unwrap_or_default();
        self.note(format!("{}: entry {entry}, field {number}, at {:#x}: {old:#x} -> {new:#x}", part.name, field.at));
    }

    /// The value of a field, of which 8 bytes at most; `None`: it is cut off.
    pub(super) fn get(&self, field: Field) -> Option<u64> {
        let bytes = self.bytes.get(field.at..field.at + field.size)?;
        Some(bytes.iter().rev().fold(0, |value, byte| (value << 8) | u64::from(*byte)))
    }

    pub(super) fn put(&mut self, field: Field, value: u64) {
        if let Some(bytes) = self.bytes.get_mut(field.at..field.at + field.size) {
            let value = value.to_le_bytes();
            bytes.copy_from_slice(&value[..bytes.len()]);
        }
    }
}
