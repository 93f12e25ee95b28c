//! Every stub of `exec_func`, on whichever machine.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use qmpi_ring::thesis::PATH;

use super::*;

/// Thirteen arguments, level, vector, and words that are none of its business.
const WORDS: usize = 17;

type Exec<T> = unsafe extern "C" fn(*const c_void, c_int, c_int, *const Vector, ...) -> T;

unsafe extern "C" {
    #[link_name = "QMPI_Exec_func"]
    fn exec_func(function: *const c_void, level: c_int, index: c_int, vector: *const Vector, ...) -> c_int;
}

/// A vector of so many layers.
fn vector(layers: usize) -> &'static Vector {
    let layer = || DynamicLib {
        path: [0; PATH],
        handle: AtomicUsize::new(0),
        mpi_interceptions: [const { AtomicPtr::new(null_mut()) }; COUNT],
        table: [const { Cell { func_ptr: AtomicPtr::new(null_mut()), level: AtomicI32::new(0) } }; COUNT],
        context: AtomicPtr::new(null_mut()),
    };
    let items: Vec<&'static DynamicLib> = (0..layers).map(|_| &*Box::leak(Box::new(layer()))).collect();
    let total = c_int::try_from(layers).unwrap();
    let items = AtomicPtr::new(Box::leak(items.into_boxed_slice()).as_mut_ptr());
    Box::leak(Box::new(Vector { items, capacity: total, total }))
}

/// The target has one place to write to.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static RECEIVED: Mutex<[usize; WORDS]> = Mutex::new([0; WORDS]);

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
) -> c_int {
    *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner) =
        [a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16];
    -17
}

/// Calls with exactly so many arguments.
fn call(exec: Exec<c_int>, level: c_int, number: c_int, vector: *const Vector, args: usize) {
    macro_rules! call {
        ($($n:literal: $($i:literal)*;)*) => {
            match args {
                $( $n => {
                    // SAFETY: `target` reads words of the caller's stack, of which there are enough in a test.
                    unsafe { exec(target as *const c_void, level, number, vector, $(WORD[$i]),*) }
                } )*
                _ => unreachable!(),
            }
        };
    }
    let result = call! {
        0: ;
        1: 0;
        2: 0 1;
        3: 0 1 2;
        4: 0 1 2 3;
        5: 0 1 2 3 4;
        6: 0 1 2 3 4 5;
        7: 0 1 2 3 4 5 6;
        8: 0 1 2 3 4 5 6 7;
        9: 0 1 2 3 4 5 6 7 8;
        10: 0 1 2 3 4 5 6 7 8 9;
        11: 0 1 2 3 4 5 6 7 8 9 10;
        12: 0 1 2 3 4 5 6 7 8 9 10 11;
        13: 0 1 2 3 4 5 6 7 8 9 10 11 12;
    };
    assert_eq!(result, -17);
}

/// The arguments.
const WORD: [usize; 13] = {
    let (mut words, mut i) = ([0; 13], 0);
    while i < words.len() {
        words[i] = 0x1111_2222_3333_0000_usize.wrapping_mul(i + 1) ^ i;
        i += 1;
    }
    words
};

fn check(args: usize, level: c_int, vector: *const Vector) {
    let received = *RECEIVED.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(received[..args], WORD[..args], "{args} arguments");
    assert_eq!((received[args] as c_int, received[args + 1]), (level, vector.addr()), "{args} arguments");
}

/// Numbers that no function of the table has are among them: eleven.
#[test]
fn every_number_of_arguments() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let vector = std::ptr::without_provenance(0xfeed_beef_dead);
    // SAFETY: it reads what such a function reads.
    let exec_stub = unsafe { std::mem::transmute::<extern "C" fn(), Exec<c_int>>(exec_stub) };
    for args in 0..=usize::from(MAX_ARGS) {
        call(exec_stub, 5, c_int::try_from(args).unwrap(), vector, args);
        check(args, 5, vector);
    }
}

#[test]
fn every_function() {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let vector = vector(3);
    // SAFETY: there are three items.
    let layer = unsafe { vector.items.load(Ordering::Relaxed).add(2) };
    // SAFETY: the item is one of `vector`'s, which are never freed.
    let layer = unsafe { *layer };
    for (index, args) in ARGS.iter().enumerate() {
        let level = c_int::try_from(1000 + index).unwrap();
        layer.table[index].level.store(level, Ordering::Relaxed);
        let args = usize::from(*args);
        call(exec_func, 2, c_int::try_from(index).unwrap(), vector, args);
        check(args, level, vector);
    }
}

#[test]
fn doubles_come_back() {
    extern "C" fn wtime(level: c_int, _vector: *const Vector) -> f64 {
        f64::from(level) + 0.25
    }
    let vector = vector(2);
    // SAFETY: where the result is is up to the function that is called.
    let exec = unsafe { std::mem::transmute::<Exec<c_int>, Exec<f64>>(exec_func) };
    // SAFETY: MPI_Wtime has the last number, and no arguments.
    let time = unsafe { exec(wtime as *const c_void, 1, 359, vector) };
    assert!((time - 0.25).abs() < f64::EPSILON, "{time}");
}
