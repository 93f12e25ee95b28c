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
    ($($count:literal $name:ident($($argument:ident)*))*) => {
        $(
            extern "C" fn $name<const F: usize>(context: usize, tool: c_int, $($argument: u64),*) -> u64 {
                let arguments: &[u64] = &[$($argument),*];
                let call = call::begin(context, tool, F, arguments);
                // SAFETY: QMPI says that this is the next function of the same name.
                let next = unsafe {
                    std::mem::transmute::<usize, extern "C" fn(usize, c_int, $(word!($argument)),*) -> u64>(call.next)
                };
                let result = next(context, call.next_tool, $($argument),*);
                call.end(arguments, result);
                result
            }
        )*

        /// The wrapper of the function with the number `F`, which has so many arguments.
        const fn with_arguments<const F: usize>(count: u8) -> *const () {
            match count {
                $($count => $name::<F> as *const (),)*
                _ => panic!("a function with more arguments"),
            }
        }
    };
}

wrappers! {
    0 call0()
    1 call1(a)
    2 call2(a b)
    3 call3(a b c)
    4 call4(a b c d)
    5 call5(a b c d e)
    6 call6(a b c d e f)
    7 call7(a b c d e f g)
    8 call8(a b c d e f g h)
    9 call9(a b c d e f g h i)
    10 call10(a b c d e f g h i j)
    11 call11(a b c d e f g h i j k)
    12 call12(a b c d e f g h i j k l)
    13 call13(a b c d e f g h i j k l m)
}

extern "C" fn call_double<const F: usize>(context: usize, tool: c_int) -> f64 {
    let call = call::begin(context, tool, F, &[]);
    // SAFETY: QMPI says that this is the next function of the same name.
    let next = unsafe { std::mem::transmute::<usize, extern "C" fn(usize, c_int) -> f64>(call.next) };
    let result = next(context, call.next_tool);
    call.end(&[], result.to_bits());
    result
}

/// The wrapper of a function by its number; null if it has none.
struct Wrapper<const F: usize>;

impl<const F: usize> Wrapper<F> {
    const ADDRESS: *const () = match FnId::from_index(F) {
        Some(id) if !id.function().variadic => match id.function().result {
            ResultKind::Double => call_double::<F> as *const (),
            _ => with_arguments::<F>(id.function().args),
        },
        _ => std::ptr::null(),
    };
}

/// The wrappers of the functions whose numbers begin with these digits, of three in all.
macro_rules! by_number {
    ($a:literal $b:literal $c:literal) => {
        Wrapper::<{ 100 * $a + 10 * $b + $c }>::ADDRESS
    };
    ($($digit:literal)*) => {
        [
            by_number!($($digit)* 0), by_number!($($digit)* 1), by_number!($($digit)* 2), by_number!($($digit)* 3),
            by_number!($($digit)* 4), by_number!($($digit)* 5), by_number!($($digit)* 6), by_number!($($digit)* 7),
            by_number!($($digit)* 8), by_number!($($digit)* 9),
        ]
    };
}

const WRAPPERS: [[[*const (); 10]; 10]; 10] = by_number!();
const _: () = assert!(COUNT <= 1000, "a function without a wrapper");

/// The functions and their wrappers.
pub(crate) fn all() -> impl Iterator<Item = (FnId, *const ())> {
    let wrappers = WRAPPERS.into_iter().flatten().flatten();
    FnId::all().zip(wrappers).filter(|(_, wrapper)| !wrapper.is_null())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::instance::RecorderInstance;

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
        let instance = RecorderInstance::new(TOOL, 1, String::new());
        let is_double = |id: FnId| id.function().result == ResultKind::Double;
        for (id, _) in all() {
            let next = if is_double(id) { time as *const () } else { target as *const () };
            instance.slots[id.index()].lead_to(next as usize, 5);
        }
        assert!(instance.publish());
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
