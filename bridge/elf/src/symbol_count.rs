//! How many dynamic symbols a file has: ELF records it nowhere but in the hash tables.
//!
//! Only counts; looking a name up through a hash table is not needed for inspection.

use crate::dynamic::DynamicTable;
use crate::error::Error;
use crate::image::{Image, u32_at};
use crate::symbol::ENTRY_SIZE;

/// Number of entries of the dynamic symbol table, the null symbol included.
pub(crate) fn symbol_count(image: &Image, dynamic: &DynamicTable) -> Result<u64, Error> {
    let Some(symtab) = dynamic.symtab else {
        return Ok(0);
    };
    if let Some(address) = dynamic.hash {
        // gABI, chapter 5, "Hash Table": nbucket, nchain; nchain equals the number of symbols.
        let head = image.read_at_address("hash table (DT_HASH)", address, 8)?;
        return Ok(u32_at(&head, 4).map_or(0, u64::from));
    }
    if let Some(address) = dynamic.gnu_hash
        && let Some(count) = count_from_gnu_hash(image, address)?
    {
        return Ok(count);
    }
    // A library that exports nothing has an empty GNU hash table, whose first symbol index is 1
    // whatever it imports (binutils bfd/elflink.c, "Empty .gnu.hash section is special"). A QMPI
    // tool that registers static functions looks like this. Linkers put another table right
    // behind .dynsym, so that one bounds it.
    let (_, left) = image.locate("dynamic symbol table", symtab)?;
    let room = dynamic.next_table_after(symtab).map_or(left, |next| left.min(next - symtab));
    Ok(room / ENTRY_SIZE)
}

/// Highest index that is reachable from the buckets, plus one; `None` when every bucket is empty.
///
/// Layout (binutils, and glibc elf/dl-setup_hash.c): nbuckets, symoffset, bloom_size, bloom_shift: u32;
/// bloom: u64 × bloom_size; buckets: u32 × nbuckets; chain: u32 per symbol from symoffset on, whose
/// lowest bit marks the last symbol of a bucket.
fn count_from_gnu_hash(image: &Image, address: u64) -> Result<Option<u64>, Error> {
    const TABLE: &str = "hash table (DT_GNU_HASH)";
    let head = image.read_at_address(TABLE, address, 16)?;
    let field = |index: usize| u32_at(&head, index * 4).map_or(0, u64::from);
    let (bucket_count, first, bloom_size) = (field(0), field(1), field(2));

    // u32 × 8 + u32 × 4 fits in u64; only the address can overflow.
    let outside = || image.truncated(TABLE);
    let buckets_at = address.checked_add(16 + bloom_size * 8).ok_or_else(outside)?;
    let buckets = image.read_at_address(TABLE, buckets_at, bucket_count * 4)?;
    let highest = buckets.chunks_exact(4).filter_map(|bytes| u32_at(bytes, 0)).max().map_or(0, u64::from);
    if highest == 0 {
        return Ok(None);
    }
    if highest < first {
        return Err(image.malformed(TABLE, format!("bucket starts at symbol {highest}, before {first}")));
    }
    let chain_at = buckets_at.checked_add(bucket_count * 4 + (highest - first) * 4).ok_or_else(outside)?;
    let (offset, left) = image.locate(TABLE, chain_at)?;
    let mut done = 0;
    // Chains are short (about two symbols); the loop ends with the segment at the latest.
    while done < left {
        let piece = image.read(TABLE, offset + done, (left - done).min(256))?;
        for (index, bytes) in piece.chunks_exact(4).enumerate() {
            if u32_at(bytes, 0).is_some_and(|hash| hash & 1 == 1) {
                return Ok(Some(highest + done / 4 + index as u64 + 1));
            }
        }
        done += piece.len() as u64;
    }
    Err(image.malformed(TABLE, "the last chain does not end"))
}
