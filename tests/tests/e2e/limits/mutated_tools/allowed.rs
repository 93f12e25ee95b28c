//! What libqmpi may do otherwise than plain `LD_PRELOAD` does with a mutant, and why.
//!
//! | class | reason |
//! |---|---|
//! | chance | a damaged address leads out of the tool: what is there depends on what else is in the process |
//! | beyond the versions | an index in DT_VERSYM for which there is no version: glibc reads what is behind its list (`elf/dl-version.c`). At the start of a process that is new memory, all zero, which means "no version"; later it is what the heap has there |
//! | behind the tool | the number of a symbol in a hash table or a relocation that is higher than there are symbols: ld.so reads what lies behind the tool, which in a namespace are other libraries |
//! | Fortran to C | a tool without a Fortran wrapper sees calls of Fortran through its C wrapper (docs/fortran.md) |
//! | static TLS | by hand there is the room that glibc keeps for libraries that are opened, and no more (docs/troubleshooting.md) |
//! | no tool | the file defines no function of MPI (any more): it has no effect, and is refused as a mistake of the user |

use super::parts::Part;
use super::sample::Sample;
use super::verdict::{End, Run, Sound};

const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;
const DT_VERNEED: u64 = 0x6fff_fffe;

/// Does the damaged file have symbols with versions that it neither defines nor needs, or other memory in the place of their indexes?
///
/// `parts` are those of the sound file. A table that the dynamic section does not point to any more has no versions.
pub(super) fn reads_beyond_versions(sound: &[u8], bytes: &[u8], parts: &[Part]) -> bool {
    let part = |name: &str| parts.iter().find(|part| part.name == name);
    let tables = [("DT_VERDEF", DT_VERDEF), ("DT_VERNEED", DT_VERNEED)];
    let highest = |bytes: &[u8]| {
        let numbers = tables.iter().filter_map(|(name, tag)| {
            let part = part(name)?;
            (entry(bytes, parts, *tag)? == entry(sound, parts, *tag)?).then(|| numbers(bytes, part).max())?
        });
        numbers.max().unwrap_or(1)
    };
    let indexes = |bytes: &[u8]| {
        let part = part("DT_VERSYM")?;
        (0..part.entries()).filter_map(|entry| Some(u16_at(bytes, part.field(entry, 0).at)? & 0x7fff)).max()
    };
    let is_moved = entry(bytes, parts, DT_VERSYM) != entry(sound, parts, DT_VERSYM);
    is_moved || indexes(bytes).is_some_and(|index| index > highest(bytes))
}

/// The numbers of versions in a table, walked as glibc does (`elf/dl-version.c`).
fn numbers<'a>(bytes: &'a [u8], part: &Part) -> impl Iterator<Item = u16> + use<'a> {
    let (start, len) = (part.start, part.len);
    let at = move |offset: usize| (offset < len).then_some(start + offset);
    let is_definitions = part.name == "DT_VERDEF";
    let mut found = Vec::new();
    let mut entry = Some(0_usize);
    for _ in 0..len / 16 {
        let Some(place) = entry.and_then(at) else { break };
        let (aux, next) = if is_definitions { (12, 16) } else { (8, 12) };
        if is_definitions {
            found.extend(u16_at(bytes, place + 4).map(|number| number & 0x7fff));
        } else {
            let mut need = u32_at(bytes, place + aux).map(|aux| place - start + aux as usize);
            for _ in 0..len / 16 {
                let Some(place) = need.and_then(at) else { break };
                found.extend(u16_at(bytes, place + 6).map(|number| number & 0x7fff));
                let next = u32_at(bytes, place + 12).filter(|next| *next != 0);
                need = next.map(|next| place - start + next as usize);
            }
        }
        let next = u32_at(bytes, place + next).filter(|next| *next != 0);
        entry = next.map(|next| place - start + next as usize);
    }
    found.into_iter()
}

/// The value that the dynamic section has for a tag.
fn entry(bytes: &[u8], parts: &[Part], tag: u64) -> Option<u64> {
    let part = parts.iter().find(|part| part.name == "dynamic section")?;
    let entries = (0..part.entries()).map(|entry| [0, 1].map(|field| u64_at(bytes, part.field(entry, field).at)));
    entries.rev().find(|[found, _]| *found == Some(tag))?[1]
}

/// Does a hash table or a relocation of the damaged file name a symbol that it does not have?
pub(super) fn leads_behind(sound: &[u8], bytes: &[u8], parts: &[Part]) -> bool {
    let part = |name: &'static str| parts.iter().filter(move |part| part.name == name);
    let symbols = part("symbols").map(Part::entries).sum::<usize>() as u32;
    let is_behind = |at: usize| u32_at(bytes, at).is_some_and(|number| number >= symbols);
    let words =
        |part: &Part, range: std::ops::Range<usize>| range.map(|word| part.field(word, 0).at).collect::<Vec<_>>();
    let of_relocations = part("relocations").flat_map(|part| (0..part.entries()).map(|entry| part.field(entry, 2).at));
    let of_sysv = part("DT_HASH").flat_map(|part| words(part, 2..part.entries()));
    let of_gnu = part("DT_GNU_HASH").flat_map(|part| {
        let [buckets, bloom] = [0, 2].map(|word| u32_at(sound, part.field(word, 0).at).unwrap_or_default() as usize);
        words(part, 4 + bloom * 2..4 + bloom * 2 + buckets)
    });
    // Other counts, other places of buckets.
    let is_other = part("DT_GNU_HASH")
        .any(|part| bytes.get(part.start..part.start + 12) != sound.get(part.start..part.start + 12));
    is_other || of_relocations.chain(of_sysv).chain(of_gnu).any(is_behind)
}

/// Did the tool of the Fortran program lose a wrapper?
pub(super) fn sees_fortran_in_c(sample: &Sample, sound: &Sound, plain: &Run, stacked: &Run) -> bool {
    let both_well = [plain, stacked].iter().all(|run| run.end(sample.right) == End::Well);
    sample.is_fortran() && both_well && plain.lines() != sound.plain
}

/// Was it refused because there is no room for its thread-local variables?
pub(super) fn lacks_static_tls(run: &Run) -> bool {
    run.outcome.said().iter().any(|line| line.contains("cannot allocate memory in static TLS block"))
}

/// Was it refused for defining nothing, and does plain `LD_PRELOAD` print what is printed without it?
pub(super) fn is_no_tool(right: &[&str], plain: &Run, stacked: &Run) -> bool {
    let says_so = stacked.outcome.said().iter().any(|line| line.contains("it is not an MPI tool: "));
    stacked.end(right) == End::Refused && says_so && plain.lines().len() == right.len()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
