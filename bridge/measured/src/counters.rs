//! What ranks counted that came to no end (`qmpi_abi::counters`): their records, made up from memory that the kernel has kept.

use std::collections::BTreeMap;

use qmpi_abi::FnId;
use qmpi_abi::counters::{BUCKETS, GRAIN, HEAD, MAGIC, PLACES, TABLE, THREAD};
use serde::Deserialize;

use crate::rank_record::{LinkRecord, MovedBytes, RankFile, Traffic, entry, number};

/// What is in a head besides the beginning of a record.
#[derive(Deserialize)]
struct CountersHead {
    /// The time-stamp counter from which ticks are counted.
    began: u64,
    /// Where records of a thread begin, and bytes of a record.
    layout: [usize; 2],
    #[serde(flatten)]
    file: RankFile,
}

/// The regions of each process's threads.
type Threads<'a> = BTreeMap<(u64, u64), Vec<&'a [u8]>>;

/// The ranks of a file that have called MPI, whether they have written a record or not.
pub(crate) fn read(bytes: &[u8]) -> Vec<RankFile> {
    let (mut heads, mut threads) = (Vec::new(), Threads::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let field = |place: usize| word(rest, 8 * place).unwrap_or(0);
        let size = if field(0) == MAGIC { field(1) as usize } else { GRAIN };
        // At least a grain, so that this comes to an end.
        let (region, behind) = rest.split_at(size.max(GRAIN).min(rest.len()));
        match (field(0), field(2)) {
            (MAGIC, HEAD) => heads.push(region),
            (MAGIC, THREAD) => threads.entry((field(3), field(4))).or_default().push(region),
            _ => {}
        }
        rest = behind;
    }
    heads.into_iter().filter_map(|head| rank(head, &threads)).collect()
}

fn rank(head: &[u8], threads: &Threads<'_>) -> Option<RankFile> {
    let text = head.get(64..TABLE)?;
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let CountersHead { began, layout: [first, size], mut file } = serde_json::from_slice(text.get(..end)?).ok()?;
    let layers = file.layers.len();
    let threads = threads.get(&(word(head, 24)?, word(head, 32)?))?;
    for place in 0..PLACES {
        let owner = word(head, TABLE + 8 * place)?;
        let Some(layer) = ((owner >> 32) as usize).checked_sub(1) else { continue };
        let Some(id) = FnId::from_index(owner as u32 as usize).filter(|_| layer < layers) else { continue };
        let mut link = LinkRecord { layer, function: id.name().to_owned(), ..LinkRecord::default() };
        let record = first + place * size..first + (place + 1) * size;
        for record in threads.iter().filter_map(|thread| thread.get(record.clone())) {
            add(&mut link, record, layers);
        }
        file.links.extend(Some(link).filter(|link| !link.callers.is_empty()));
    }
    let last = threads.iter().filter_map(|thread| word(thread, 40)).max()?;
    // What its clocks said at its start tells how long a tick is.
    let tick = file.ns_per_tick();
    file.ticks = last.checked_sub(began)?;
    file.elapsed_ns = (file.ticks as f64 * tick) as u64;
    file.threads = threads.len() as u32;
    file.is_cut_off = true;
    (!file.links.is_empty()).then_some(file)
}

/// Adds a record of a thread: `qmpi_abi::counters::LinkCounts` and what follows it.
fn add(link: &mut LinkRecord, record: &[u8], layers: usize) {
    let at = |place: usize| word(record, place).unwrap_or(0);
    link.inclusive += at(0);
    link.own = link.own.wrapping_add(at(8).cast_signed());
    link.longest = link.longest.max(at(16));
    for bits in 0..BUCKETS {
        let count = at(24 + 4 * bits) & u64::from(u32::MAX);
        if count > 0 {
            *entry(&mut link.histogram, bits as u32) += count;
        }
    }
    let callers = 24 + 4 * BUCKETS;
    // The stack that was prepared may have more layers than came to be.
    let room = (record.len().saturating_sub(callers)) / 24;
    for caller in 0..layers.min(room) {
        let [calls, sent, received] = [0, 8, 16].map(|word| at(callers + 24 * caller + word));
        if calls > 0 {
            *entry(&mut link.callers, caller) += Traffic { calls, bytes: MovedBytes { sent, received } };
        }
    }
}

fn word(bytes: &[u8], place: usize) -> Option<u64> {
    bytes.get(place..place + 8).map(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_no_rank() {
        assert!(read(&[]).is_empty());
        assert!(read(&vec![7; 3 * GRAIN + 5]).is_empty());
        let mut head = vec![0; GRAIN];
        head[..8].copy_from_slice(&MAGIC.to_le_bytes());
        head[16] = HEAD as u8;
        head[64] = b'{';
        assert!(read(&head).is_empty());
        assert!(read(&head[..30]).is_empty());
    }
}
