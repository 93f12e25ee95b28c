//! Hash tables of symbols, and the two hashes of a name.
//!
//! A table is a way to find numbers of symbols; [`Tables`](crate::Tables) compares the names.

use crate::bytes::Bytes;

/// The hash of a name in `.gnu.hash` (`elf/dl-new-hash.h`): `hash * 33 + byte` for each byte.
///
/// Start-up works it out of thousands of names: eight bytes at once take a quarter of the time of one after the other. A function of its own:
/// libqmpi.so asks in many places.
pub const fn gnu(name: &[u8]) -> u32 {
    let (mut hash, mut rest) = (5381_u32, name);
    while let Some((bytes, behind)) = rest.split_first_chunk() {
        hash = hash.wrapping_mul(FACTOR.wrapping_pow(8)).wrapping_add(digits(*bytes));
        rest = behind;
    }
    while let [byte, behind @ ..] = rest {
        hash = hash.wrapping_mul(FACTOR).wrapping_add(*byte as u32);
        rest = behind;
    }
    hash
}

const FACTOR: u32 = 33;

/// What eight bytes add to the hash: digits of a number to the base of [`FACTOR`], the first one the highest.
///
/// Two digits are one to the base of its square, and so on: the word has four of those, then two. No sum leaves its part of the word:
/// 255 * 34 has 14 bits, and that times 1090 has 24.
#[inline]
const fn digits(bytes: [u8; size_of::<u64>()]) -> u32 {
    const SECOND: u64 = FACTOR.pow(2) as u64;
    const OF_PAIRS: u64 = 0x00ff_00ff_00ff_00ff;
    const OF_FOURS: u64 = 0x0000_ffff_0000_ffff;
    let word = u64::from_le_bytes(bytes);
    let pairs = (word & OF_PAIRS).wrapping_mul(FACTOR as u64).wrapping_add(word >> 8 & OF_PAIRS);
    let fours = (pairs & OF_FOURS).wrapping_mul(SECOND).wrapping_add(pairs >> 16 & OF_FOURS);
    (fours as u32).wrapping_mul(FACTOR.pow(4)).wrapping_add((fours >> 32) as u32)
}

/// The hash of a name in `.hash` (System V gABI, chapter 5).
pub const fn sysv(name: &[u8]) -> u32 {
    let (mut hash, mut rest) = (0_u32, name);
    while let [byte, behind @ ..] = rest {
        hash = (hash << 4).wrapping_add(*byte as u32);
        let high = hash & 0xf000_0000;
        hash = (hash ^ (high >> 24)) & !high;
        rest = behind;
    }
    hash
}

/// A `.gnu.hash` section.
///
/// Layout (binutils, and glibc `elf/dl-setup_hash.c`): nbuckets, symoffset, bloom_size, bloom_shift: u32; bloom: u64 ×
/// bloom_size; buckets: u32 × nbuckets; chain: u32 for each symbol from symoffset on, whose lowest bit marks the last symbol
/// of a bucket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GnuHash<'a> {
    whole: Bytes<'a>,
    bucket_count: u32,
    first_symbol: u32,
    bloom_words: u32,
    bloom_shift: u32,
    bloom: Bytes<'a>,
    buckets: Bytes<'a>,
    chain: Bytes<'a>,
}

const WORD: usize = size_of::<u32>();
const BLOOM_WORD: usize = size_of::<u64>();

impl<'a> GnuHash<'a> {
    /// `None`: not even its head is there.
    pub(crate) fn of(bytes: Bytes<'a>) -> Option<GnuHash<'a>> {
        let [bucket_count, first_symbol, bloom_words, bloom_shift] = bytes.read::<[u32; 4]>(0)?;
        let rest = bytes.skip(size_of::<[u32; 4]>());
        let len = |count: u32, size: usize| (count as usize).saturating_mul(size);
        let bloom = rest.up_to(len(bloom_words, BLOOM_WORD));
        let rest = rest.skip(len(bloom_words, BLOOM_WORD));
        let buckets = rest.up_to(len(bucket_count, WORD));
        let chain = rest.skip(len(bucket_count, WORD));
        Some(GnuHash { whole: bytes, bucket_count, first_symbol, bloom_words, bloom_shift, bloom, buckets, chain })
    }

    /// Do its parts lie inside of it? Where they do not, what is there can be searched all the same, as `ld.so` does.
    pub(crate) fn is_whole(&self) -> bool {
        let parts = [(self.bloom, self.bloom_words, BLOOM_WORD), (self.buckets, self.bucket_count, WORD)];
        parts.into_iter().all(|(bytes, count, size)| (count as usize).checked_mul(size) == Some(bytes.len()))
    }

    /// The number of the first symbol that is found through the table.
    #[inline]
    pub(crate) fn first_symbol(&self) -> usize {
        self.first_symbol as usize
    }

    /// The table with the hashes of so many symbols; `None` if a part of it is missing.
    pub(crate) fn of_symbols(&self, count: usize) -> Option<Bytes<'a>> {
        let hashes = self.chain.first(count.checked_mul(WORD)?).filter(|_| self.is_whole())?;
        self.whole.first(self.whole.len().checked_sub(self.chain.len())?.checked_add(hashes.len())?)
    }

    /// The hash of symbol number `index`, but for its lowest bit; `None`: it is not found through the table.
    pub(crate) fn hash_of(&self, index: usize) -> Option<u32> {
        self.chain.entry::<u32>(index.checked_sub(self.first_symbol())?)
    }

    /// The highest number of a symbol that is found through the table, plus one. Ok(None): no symbol is found through it.
    /// `Err`: a bucket starts before the first symbol, or the last chain does not end.
    pub(crate) fn symbol_count(&self) -> Result<Option<usize>, &'static str> {
        let buckets = (0..).map_while(|index| self.buckets.entry::<u32>(index));
        let last = buckets.max().unwrap_or(0);
        if last == 0 {
            return Ok(None);
        }
        let Some(start) = last.checked_sub(self.first_symbol) else {
            return Err("a bucket starts before the first symbol");
        };
        let mut ends = (start as usize..).map_while(|index| self.chain.entry::<u32>(index));
        match ends.position(|hash| hash & 1 == 1) {
            Some(behind) => Ok((last as usize).checked_add(behind).and_then(|index| index.checked_add(1))),
            None => Err("the last chain does not end"),
        }
    }

    /// Numbers of symbols whose names may have this hash.
    pub(crate) fn candidates(self, hash: u32) -> impl Iterator<Item = usize> + use<'a> {
        let start = if self.may_have(hash) { self.bucket(hash) } else { None };
        let mut next = start.and_then(|index| index.checked_sub(self.first_symbol));
        core::iter::from_fn(move || {
            loop {
                let place = next?;
                let entry = self.chain.entry::<u32>(place as usize)?;
                next = if entry & 1 == 0 { place.checked_add(1) } else { None };
                if (entry ^ hash) >> 1 == 0 {
                    return Some((place as usize).saturating_add(self.first_symbol as usize));
                }
            }
        })
    }

    /// The Bloom filter's answer; `bloom_size` is a power of two, or the filter says nothing.
    fn may_have(&self, hash: u32) -> bool {
        if !self.bloom_words.is_power_of_two() {
            return true;
        }
        let word = (hash / 64) & self.bloom_words.wrapping_sub(1);
        // Of 64 bits, as in glibc, whose processors look at the lowest six bits of the distance.
        let second = u64::from(hash).wrapping_shr(self.bloom_shift);
        let filter = self.bloom.entry::<u64>(word as usize);
        filter.is_none_or(|filter| (filter >> (hash % 64)) & (filter >> (second % 64)) & 1 == 1)
    }

    fn bucket(&self, hash: u32) -> Option<u32> {
        let index = hash.checked_rem(self.bucket_count)?;
        self.buckets.entry::<u32>(index as usize).filter(|first| *first != 0)
    }
}

/// A `.hash` section (System V gABI, chapter 5): nbucket, nchain, buckets, chain: u32; nchain is the number of symbols, which
/// `ld.so` does not use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SysvHash<'a> {
    bucket_count: u32,
    chain_count: u32,
    buckets: Bytes<'a>,
    /// All that is there behind the buckets.
    chain: Bytes<'a>,
}

impl<'a> SysvHash<'a> {
    /// `None`: not even its head is there.
    pub(crate) fn of(bytes: Bytes<'a>) -> Option<SysvHash<'a>> {
        let [bucket_count, chain_count] = bytes.read::<[u32; 2]>(0)?;
        let rest = bytes.skip(size_of::<[u32; 2]>());
        let len = (bucket_count as usize).saturating_mul(WORD);
        Some(SysvHash { bucket_count, chain_count, buckets: rest.up_to(len), chain: rest.skip(len) })
    }

    /// Do its parts lie inside of it?
    pub(crate) fn is_whole(&self) -> bool {
        self.buckets.len() / WORD == self.bucket_count as usize && self.symbol_count() <= self.chain.len() / WORD
    }

    pub(crate) fn symbol_count(&self) -> usize {
        self.chain_count as usize
    }

    /// The highest number of a symbol that is found through the table, plus one; 0: none is.
    pub(crate) fn end_of_chains(&self) -> usize {
        let mut end = 0_usize;
        // All chains together are not longer than there is room for.
        let mut left = self.chain.len() / WORD;
        for index in 0..self.buckets.len() / WORD {
            let mut next = self.buckets.entry::<u32>(index);
            while let Some(number @ 1..) = next
                && let Some(rest) = left.checked_sub(1)
            {
                left = rest;
                end = end.max((number as usize).saturating_add(1));
                next = self.chain.entry::<u32>(number as usize);
            }
        }
        end
    }

    /// Numbers of symbols whose names may have this hash.
    pub(crate) fn candidates(self, hash: u32) -> impl Iterator<Item = usize> + use<'a> {
        let mut next = hash.checked_rem(self.bucket_count).and_then(|index| self.buckets.entry::<u32>(index as usize));
        // No chain has more symbols than there is room for; one that leads back to itself ends here.
        (0..self.chain.len() / WORD).map_while(move |_| {
            let index = next.filter(|index| *index != 0)? as usize;
            next = self.chain.entry::<u32>(index);
            Some(index)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_of_the_specifications() {
        // binutils and https://flapenguin.me/elf-dt-gnu-hash; gABI.
        assert_eq!(gnu(b""), 0x0000_1505);
        assert_eq!(gnu(b"printf"), 0x156b_2bb8);
        assert_eq!(gnu(b"syscall"), 0xbac2_12a0);
        assert_eq!(sysv(b""), 0);
        assert_eq!(sysv(b"printf"), 0x077_905a6);
        assert_eq!(sysv(b"exit"), 0x0006_cf04);
    }

    #[test]
    fn bytes_of_a_name_are_digits_however_many_are_taken_at_once() {
        let one_by_one =
            |name: &[u8]| name.iter().fold(5381_u32, |hash, byte| hash.wrapping_mul(33).wrapping_add(u32::from(*byte)));
        let names = [
            [0xff_u8; 40],
            core::array::from_fn(|place| place as u8),
            core::array::from_fn(|place| (place as u8).wrapping_mul(97) ^ 0xa5),
        ];
        for name in &names {
            for end in 0..=name.len() {
                assert_eq!(gnu(&name[..end]), one_by_one(&name[..end]), "{:?}", &name[..end]);
            }
        }
    }

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn a_sysv_chain_that_leads_back_ends() {
        let bytes = words(&[1, 3, 1, 0, 2, 1]);
        let table = SysvHash::of(Bytes::from(&bytes[..])).unwrap();
        assert_eq!(table.symbol_count(), 3);
        assert_eq!(table.candidates(77).collect::<Vec<_>>(), [1, 2, 1]);
        let long = words(&[1, u32::MAX, 1, 0]);
        assert!(table.is_whole() && !SysvHash::of(Bytes::from(&long[..])).unwrap().is_whole());
        // The count of the chain is not used to find a name.
        let short = words(&[1, 1, 1, 0, 2, 0]);
        assert_eq!(SysvHash::of(Bytes::from(&short[..])).unwrap().candidates(77).collect::<Vec<_>>(), [1, 2]);
        let empty = words(&[0, 0]);
        assert_eq!(SysvHash::of(Bytes::from(&empty[..])).unwrap().candidates(1).count(), 0);
    }

    #[test]
    fn a_gnu_chain_without_an_end_ends_with_the_table() {
        // One bucket from symbol 2 on, no filter, hashes 10, 12 and no last one.
        let bytes = words(&[1, 2, 0, 0, 2, 10, 12]);
        let table = GnuHash::of(Bytes::from(&bytes[..])).unwrap();
        assert!(table.symbol_count().is_err());
        assert_eq!(table.candidates(12).collect::<Vec<_>>(), [3]);
        let bytes = words(&[1, 2, 0, 0, 2, 10, 13, 99]);
        let table = GnuHash::of(Bytes::from(&bytes[..])).unwrap();
        assert_eq!(table.symbol_count(), Ok(Some(4)));
        assert_eq!(table.candidates(98).count(), 0, "behind the end of the chain");
        let before = words(&[1, 5, 0, 0, 2, 11]);
        let table = GnuHash::of(Bytes::from(&before[..])).unwrap();
        assert!(table.symbol_count().is_err() && table.candidates(10).count() == 0);
        let huge = words(&[u32::MAX, 2, u32::MAX, 99, 0]);
        let table = GnuHash::of(Bytes::from(&huge[..])).unwrap();
        assert!(!table.is_whole() && table.candidates(1).count() == 0);
        // Fewer buckets than it says: a name whose bucket is there is found in it, as by ld.so.
        let cut = words(&[6, 2, 0, 0, 2, 11]);
        let table = GnuHash::of(Bytes::from(&cut[..])).unwrap();
        assert!(!table.is_whole());
        assert_eq!(table.bucket(6), Some(2));
        // A shift of the filter that no u32 can do; a filter that lets nothing pass.
        let shift = words(&[1, 2, 1, 99, 0, 0, 2, 11]);
        assert_eq!(GnuHash::of(Bytes::from(&shift[..])).unwrap().candidates(10).count(), 0);
    }
}
