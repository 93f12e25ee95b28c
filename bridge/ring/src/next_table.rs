//! What comes next for all tools of the stack of the process, in one table.
//!
//! A row for each value of the enumerator, and in it the answers for the tools by their ids:
//!
//! ```text
//!            tool 0   tool 1   tool 2 ...
//! value 0    next     next     next
//! value 1    next     next     next
//! ```
//!
//! Where a call passes ten tools that ask in every call, each waits for the id that the one before got. So the way from an id
//! to the answer is one load: which row it is does not depend on the id, and the answers of four tools share a line of the
//! cache. With a table for each tool it was two loads, and their rows lay at equal distances, in the same sets of the cache.
#![expect(unsafe_code, reason = "a reference out of a pointer")]

use crate::sync::atomic::{AtomicPtr, Ordering};
use crate::tools::Next;
use qmpi_dynamic::LinkerLock;

/// The table. It is never changed, and never freed once it was published.
#[derive(Debug)]
#[repr(C)]
pub struct NextTable {
    answers: &'static [Next],
    tools: u32,
}

impl NextTable {
    /// For no tools.
    pub const EMPTY: NextTable = NextTable { answers: &[], tools: 0 };

    /// One of these answers, row by row, with so many in each.
    pub fn new(answers: &'static [Next], tools: u32) -> NextTable {
        NextTable { answers, tools }
    }

    /// For how many tools it answers: ids from 0 on.
    pub fn tools(&self) -> u32 {
        self.tools
    }

    /// What comes next for a tool and the value of an enumerator in its own numbering. `None`: the table has no answer.
    #[inline]
    pub fn find(&self, tool: u32, value: u32) -> Option<&'static Next> {
        if tool >= self.tools {
            return None;
        }
        // Two numbers of 32 bits: their product, and what is added, have no more than 64.
        let place = u64::from(value).wrapping_mul(u64::from(self.tools)).wrapping_add(u64::from(tool));
        self.answers.get(place as usize).filter(|next| next.function != 0)
    }
}

/// The table that is in force.
#[derive(Debug)]
#[repr(C)]
pub struct Current(AtomicPtr<NextTable>);

impl Current {
    /// Out of a pointer to a table that lives as long as the process.
    pub const fn new(table: AtomicPtr<NextTable>) -> Current {
        Current(table)
    }

    /// The table, or one that was there before.
    #[inline]
    pub fn get(&self) -> &'static NextTable {
        // SAFETY: the pointer is that of a table that lives as long as the process: `new` and `replace` are given no other.
        unsafe { &*self.0.load(Ordering::Acquire) }
    }

    /// Puts another table in its place.
    pub fn replace(&self, table: &'static NextTable, _: &LinkerLock) {
        self.0.store(core::ptr::from_ref(table).cast_mut(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_gets_its_own_answer() {
        let answer = |function: usize| Next { function, tool: function as i32 };
        // Two tools and three values; tool 1 has no answer for value 1.
        let answers: &'static [Next] = Box::leak(Box::new([1, 2, 3, 0, 5, 6].map(answer)));
        let table = NextTable::new(answers, 2);
        let find = |tool, value| table.find(tool, value).map(|next| next.function);
        assert_eq!([find(0, 0), find(1, 0), find(0, 1), find(0, 2), find(1, 2)], [1, 2, 3, 5, 6].map(Some));
        for (tool, value) in [(1, 1), (2, 0), (0, 3), (u32::MAX, 0), (0, u32::MAX), (1, u32::MAX), (u32::MAX, u32::MAX)]
        {
            assert_eq!(find(tool, value), None, "{tool}, {value}");
        }
        assert!(NextTable::EMPTY.find(0, 0).is_none());
    }

    #[test]
    fn a_reader_sees_one_table_or_the_other() {
        static FIRST: NextTable = NextTable::EMPTY;
        let current = Current::new(AtomicPtr::new(core::ptr::from_ref(&FIRST).cast_mut()));
        assert_eq!(current.get().tools(), 0);
        let answers: &'static [Next] = Box::leak(Box::new([Next { function: 7, tool: 3 }]));
        // SAFETY: no other thread of this test writes.
        let lock = unsafe { LinkerLock::held() };
        current.replace(Box::leak(Box::new(NextTable::new(answers, 1))), &lock);
        assert_eq!(current.get().find(0, 0).map(|next| next.tool), Some(3));
    }
}
