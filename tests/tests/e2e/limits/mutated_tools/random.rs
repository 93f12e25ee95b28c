//! Random numbers that are the same in every run from the same seed.

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
pub(super) struct Random(u64);

impl Random {
    /// The numbers of mutant `index` of a series: no other mutant has to be made first.
    pub(super) fn new(seed: u64, index: usize) -> Random {
        let mut random = Random(seed);
        random.0 = random.next() ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        random
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    }

    /// A number below `limit`, which is not 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// One of these, of which there is at least one.
    pub(super) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// True in `percent` of all cases.
    pub(super) fn in_percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}
