//! A wrapper for each function of MPI, as the function of a QMPI tool: `f(context, tool_id, arguments...)`.
//!
//! All arguments of MPI's functions are integers and addresses, which calling conventions pass in whole registers or words of the stack, and
//! `functions.tsv` says how many there are. So one generic function for each number of arguments is enough, with the number of the function
//! as its parameter. `MPI_Wtime` and `MPI_Wtick` return a `double`. `MPI_Pcontrol` has any number of arguments, and no wrapper.
//!
//! What comes next may be left by an exception of C++ or by `longjmp`. A wrapper has nothing to clean up then, and its frame is one that
//! unwinders pass. The next function is called as `extern "C"`, and not as "C-unwind", for which Rust makes code in a library with
//! `panic = "abort"` that ends the process.
#![expect(unsafe_code, reason = "calls what comes next by its address")]

use std::ffi::c_int;

use qmpi_abi::{COUNT, FnId, ResultKind};

use crate::call;

/// The type of each argument in a list.
macro_rules! word {
    ($argument:ident) => {
        u64
    };
}

macro_rules! wrappers {
    ($($name:ident($($argument:ident)*))*) => { $(
        extern "C" fn $name<const F: usize>(context: usize, tool: c_int, $($argument: u64),*) -> u64 {
            let arguments: &[u64] = &[$($argument),*];
            let open = call::begin(context, tool, F, arguments);
            // SAFETY: QMPI says that this is the next function of the same name.
            let next = unsafe {
                std::mem::transmute::<usize, extern "C" fn(usize, c_int, $(word!($argument)),*) -> u64>(open.next)
            };
            let result = next(context, open.next_tool, $($argument),*);
            open.end(arguments, result);
            result
        }
    )* };
}

wrappers! {
    call0()
    call1(a)
    call2(a b)
    call3(a b c)
    call4(a b c d)
    call5(a b c d e)
    call6(a b c d e f)
    call7(a b c d e f g)
    call8(a b c d e f g h)
    call9(a b c d e f g h i)
    call10(a b c d e f g h i j)
    call11(a b c d e f g h i j k)
    call12(a b c d e f g h i j k l)
    call13(a b c d e f g h i j k l m)
}

extern "C" fn call_double<const F: usize>(context: usize, tool: c_int) -> f64 {
    let open = call::begin(context, tool, F, &[]);
    // SAFETY: QMPI says that this is the next function of the same name.
    let next = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, c_int) -> f64>(open.next) };
    let result = next(context, open.next_tool);
    open.end(&[], result.to_bits());
    result
}

/// The wrapper of the function in a row; null if it has none.
struct Row<const F: usize>;

impl<const F: usize> Row<F> {
    const WRAPPER: *const () = {
        match FnId::from_index(F) {
            Some(id) if !id.function().variadic => match (id.function().result, id.function().args) {
                (ResultKind::Double, _) => call_double::<F> as *const (),
                (_, 0) => call0::<F> as *const (),
                (_, 1) => call1::<F> as *const (),
                (_, 2) => call2::<F> as *const (),
                (_, 3) => call3::<F> as *const (),
                (_, 4) => call4::<F> as *const (),
                (_, 5) => call5::<F> as *const (),
                (_, 6) => call6::<F> as *const (),
                (_, 7) => call7::<F> as *const (),
                (_, 8) => call8::<F> as *const (),
                (_, 9) => call9::<F> as *const (),
                (_, 10) => call10::<F> as *const (),
                (_, 11) => call11::<F> as *const (),
                (_, 12) => call12::<F> as *const (),
                (_, 13) => call13::<F> as *const (),
                _ => panic!("a function with more arguments"),
            },
            _ => std::ptr::null(),
        }
    };
}

macro_rules! ten {
    ($row:expr) => {
        [
            Row::<{ $row }>::WRAPPER,
            Row::<{ $row + 1 }>::WRAPPER,
            Row::<{ $row + 2 }>::WRAPPER,
            Row::<{ $row + 3 }>::WRAPPER,
            Row::<{ $row + 4 }>::WRAPPER,
            Row::<{ $row + 5 }>::WRAPPER,
            Row::<{ $row + 6 }>::WRAPPER,
            Row::<{ $row + 7 }>::WRAPPER,
            Row::<{ $row + 8 }>::WRAPPER,
            Row::<{ $row + 9 }>::WRAPPER,
        ]
    };
}

macro_rules! hundred {
    ($row:expr) => {
        [
            ten!($row),
            ten!($row + 10),
            ten!($row + 20),
            ten!($row + 30),
            ten!($row + 40),
            ten!($row + 50),
            ten!($row + 60),
            ten!($row + 70),
            ten!($row + 80),
            ten!($row + 90),
        ]
    };
}

const WRAPPERS: [[[*const (); 10]; 10]; 9] = [
    hundred!(0),
    hundred!(100),
    hundred!(200),
    hundred!(300),
    hundred!(400),
    hundred!(500),
    hundred!(600),
    hundred!(700),
    hundred!(800),
];
const _: () = assert!(COUNT <= 900, "a row without a wrapper");

/// The functions and their wrappers.
pub(crate) fn all() -> impl Iterator<Item = (FnId, *const ())> {
    let wrappers = WRAPPERS.into_iter().flatten().flatten();
    FnId::all().zip(wrappers).filter(|(_, wrapper)| !wrapper.is_null())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::edge::Edge;

    #[test]
    fn every_function_but_the_variadic_one() {
        let without = FnId::all().filter(|id| !all().any(|(other, _)| other == *id)).map(FnId::name);
        assert_eq!(without.collect::<Vec<_>>(), ["MPI_Pcontrol"]);
    }

    type Words = [u64; 13];
    #[rustfmt::skip]
    type Thirteen = extern "C" fn(
        usize, c_int, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64, u64,
    ) -> u64;

    thread_local! {
        static RECEIVED: Cell<(usize, c_int, Words)> = const { Cell::new((0, 0, [0; 13])) };
    }

    #[rustfmt::skip]
    extern "C" fn target(
        context: usize, tool: c_int, a: u64, b: u64, c: u64, d: u64, e: u64, f: u64, g: u64, h: u64, i: u64, j: u64, k: u64, l: u64, m: u64,
    ) -> u64 {
        RECEIVED.set((context, tool, [a, b, c, d, e, f, g, h, i, j, k, l, m]));
        0x1234_5678_9abc_def0
    }

    extern "C" fn time(_: usize, _: c_int) -> f64 {
        1.5
    }

    #[test]
    fn arguments_and_results_pass() {
        const TOOL: c_int = 7;
        crate::thread::prepare(2);
        let edge = Edge::new(TOOL, 1, String::new());
        let is_double = |id: FnId| id.function().result == ResultKind::Double;
        for (id, _) in all() {
            let next = if is_double(id) { time as *const () } else { target as *const () };
            edge.slot(id.index()).lead_to(next as usize, 5);
        }
        assert!(edge.publish());
        for (id, wrapper) in all() {
            if is_double(id) {
                // SAFETY: the wrapper of such a function.
                let call = unsafe { std::mem::transmute::<*const (), extern "C" fn(usize, c_int) -> f64>(wrapper) };
                assert!((call(9, TOOL) - 1.5).abs() < 1e-9);
                continue;
            }
            // SAFETY: more arguments than a function takes do no harm.
            let call = unsafe { std::mem::transmute::<*const (), Thirteen>(wrapper) };
            assert_eq!(
                call(9, TOOL, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13),
                0x1234_5678_9abc_def0,
                "{}",
                id.name()
            );
            let (context, tool, words) = RECEIVED.get();
            let count = usize::from(id.function().args);
            assert_eq!((context, tool), (9, 5));
            assert_eq!(words[..count], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13][..count], "{}", id.name());
        }
    }
}
