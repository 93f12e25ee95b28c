//! Links from one calling convention of tools to another: PMPI, QMPI, and those of the 2018 prototype.

use crate::shift::{self, Added, DirectStubs};
pub use crate::shift::{Arity, CallerMode, arity};
use crate::trampoline::{self, Stub};

/// A link that is called as QMPI tools are, `(context, tool_id, args...)`, and calls the PMPI function `target`.
pub fn down(target: usize, arity: Arity, mode: CallerMode) -> usize {
    let direct = DirectStubs::of(mode).and_then(|stubs| stubs.down(target, arity));
    direct.unwrap_or_else(|| trampoline::with_word(shift::down(arity, mode), target))
}

/// A link that is called as PMPI functions are and calls the function `target` of QMPI tool `tool`.
pub fn up(target: usize, tool: i32, arity: Arity, mode: CallerMode) -> usize {
    let direct = DirectStubs::of(mode).and_then(|stubs| stubs.up(target, tool, arity));
    let with_frame =
        || if mode == CallerMode::Ignore { shift::direct_up_with_frame(target, tool, arity) } else { None };
    direct.or_else(with_frame).unwrap_or_else(|| added(shift::up(arity, mode), target, tool, 0))
}

/// As [`up`] with [`CallerMode::Keep`]; `context` is passed where none came with the call, as in a thread of the tool's own.
pub fn up_with_context(target: usize, tool: i32, arity: Arity, context: usize) -> usize {
    added(shift::up(arity, CallerMode::Keep), target, tool, context)
}

/// A link that is called as PMPI functions are and calls the wrapper `target` of the 2018 prototype.
pub fn append(target: usize, level: i32, vector: usize, arity: Arity) -> usize {
    added(shift::append(arity), target, level, vector)
}

/// The function `target` of QMPI tools, called with the id `tool` instead of that which the caller passes.
pub fn numbered(target: usize, tool: i32) -> usize {
    added(shift::qmpi_numbered, target, tool, 0)
}

fn added(stub: Stub, target: usize, number: i32, word: usize) -> usize {
    trampoline::allocate(stub, Box::leak(Box::new(Added { target, number, word })))
}

/// A link from the application to the PMPI function `target` that keeps the application's return address for layers below.
pub fn record(target: usize) -> usize {
    trampoline::with_word(shift::qmpi_record, target)
}

#[cfg(test)]
mod tests {
    #![expect(unsafe_code, reason = "calls stubs with made-up prototypes")]
    use std::sync::{Mutex, PoisonError};

    use super::*;

    /// More than any stub moves.
    const WORDS: usize = 24;
    type Words = [usize; WORDS];
    type Function = extern "C" fn(
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ) -> usize;

    /// What the target of a stub received.
    static RECEIVED: Mutex<Words> = Mutex::new([0; WORDS]);
    /// The target is a plain function with one place to write to.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    const RESULT: usize = 0x5a5a_0000_1234_abcd;

    extern "C" fn target(
        a0: usize,
        a1: usize,
        a2: usize,
        a3: usize,
        a4: usize,
        a5: usize,
        a6: usize,
        a7: usize,
        a8: usize,
        a9: usize,
        a10: usize,
        a11: usize,
        a12: usize,
        a13: usize,
        a14: usize,
        a15: usize,
        a16: usize,
        a17: usize,
        a18: usize,
        a19: usize,
        a20: usize,
        a21: usize,
        a22: usize,
        a23: usize,
    ) -> usize {
        *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner) = [
            a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22,
            a23,
        ];
        RESULT
    }

    /// Calls `link` with these words and returns what the target received.
    #[inline(never)]
    fn call(link: usize, words: Words) -> Words {
        let [
            a0,
            a1,
            a2,
            a3,
            a4,
            a5,
            a6,
            a7,
            a8,
            a9,
            a10,
            a11,
            a12,
            a13,
            a14,
            a15,
            a16,
            a17,
            a18,
            a19,
            a20,
            a21,
            a22,
            a23,
        ] = words;
        // SAFETY: a C function may be called with more words than it reads; `target` reads as many as are passed.
        let link: Function = unsafe { std::mem::transmute(link) };
        assert_eq!(
            link(
                a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21,
                a22, a23
            ),
            RESULT
        );
        *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn patterns() -> Words {
        std::array::from_fn(|i| 0x1111_2222_3333_0000_usize.wrapping_mul(i + 1) ^ i)
    }

    fn address() -> usize {
        target as Function as usize
    }

    #[test]
    fn down_drops_context_and_tool() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for mode in [CallerMode::Ignore, CallerMode::Keep] {
            for n in 0..=20u8 {
                let link = down(address(), Arity::Fixed(n), mode);
                let (words, n) = (patterns(), usize::from(n));
                assert_eq!(call(link, words)[..n], words[2..n + 2], "{n} arguments");
            }
            let link = down(address(), Arity::Variadic, mode);
            assert_eq!(call(link, patterns())[..18], patterns()[2..20]);
        }
    }

    #[test]
    fn up_adds_context_and_tool() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for n in 0..=20u8 {
            let link = up(address(), 7, Arity::Fixed(n), CallerMode::Ignore);
            let (words, n) = (patterns(), usize::from(n));
            let received = call(link, words);
            assert_eq!(received[2..n + 2], words[..n], "{n} arguments");
            assert_eq!(received[1] as u32, 7);
            let caller = call as fn(usize, Words) -> Words as usize;
            assert!((caller..caller + 0x1000).contains(&received[0]), "{n} arguments: context {:#x}", received[0]);
        }
        let link = up(address(), 7, Arity::Variadic, CallerMode::Ignore);
        assert_eq!(call(link, patterns())[2..20], patterns()[..18]);
    }

    #[test]
    fn null_contexts_stay_null() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut words = patterns();
        words[0] = 0;
        for n in 0..=20u8 {
            let inner = up(address(), 7, Arity::Fixed(n), CallerMode::Null);
            let received = call(inner, patterns());
            let n = usize::from(n);
            assert_eq!((received[0], received[1] as u32), (0, 7), "{n} arguments");
            assert_eq!(received[2..n + 2], patterns()[..n], "{n} arguments");
            let outer = down(inner, Arity::Fixed(n as u8), CallerMode::Null);
            let received = call(outer, words);
            assert_eq!(received[0], 0, "{n} arguments");
            assert_eq!(received[2..n + 2], words[2..n + 2], "{n} arguments");
        }
        let inner = up(address(), 7, Arity::Variadic, CallerMode::Null);
        let received = call(down(inner, Arity::Variadic, CallerMode::Null), words);
        assert_eq!((received[0], received[1] as u32), (0, 7));
        assert_eq!(received[2..20], words[2..20]);
    }

    #[test]
    fn a_context_that_is_not_null_is_kept() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for arity in (0..=20).map(Arity::Fixed).chain([Arity::Variadic]) {
            let inner = up_with_context(address(), 3, arity, 0);
            let words = patterns();
            let received = call(down(inner, arity, CallerMode::Null), words);
            let n = if let Arity::Fixed(n) = arity { usize::from(n) } else { 18 };
            assert_eq!((received[0], received[1] as u32), (words[0], 3), "{arity:?}");
            assert_eq!(received[2..n + 2], words[2..n + 2], "{arity:?}");
        }
        assert!(crate::lazy_slots::CONTEXTS.load(std::sync::atomic::Ordering::Relaxed));
    }

    #[test]
    fn the_caller_survives_a_pmpi_tool() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for n in 0..=20u8 {
            // QMPI tool → PMPI tool (here: nothing but the link itself) → QMPI tool.
            let inner = up(address(), 3, Arity::Fixed(n), CallerMode::Keep);
            let outer = down(inner, Arity::Fixed(n), CallerMode::Keep);
            let words = patterns();
            let received = call(outer, words);
            assert_eq!(received[0], words[0], "{n} arguments: the context is handed down");
            assert_eq!(received[2..usize::from(n) + 2], words[2..usize::from(n) + 2]);
        }
        let inner = up(address(), 3, Arity::Fixed(2), CallerMode::Keep);
        let received = call(record(inner), patterns());
        let caller = call as fn(usize, Words) -> Words as usize;
        assert!((caller..caller + 0x1000).contains(&received[0]), "context {:#x}", received[0]);
        assert_eq!(received[2..4], patterns()[..2]);
    }

    #[test]
    fn append_adds_level_and_vector() {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        for n in 0..=20u8 {
            let link = append(address(), 5, 0xfeed_beef_dead, Arity::Fixed(n));
            let (words, n) = (patterns(), usize::from(n));
            let received = call(link, words);
            assert_eq!(received[..n], words[..n], "{n} arguments");
            assert_eq!((received[n] as u32, received[n + 1]), (5, 0xfeed_beef_dead), "{n} arguments");
        }
    }
}
