//! Functions that store counts: the layer's function stores an `int`, which is widened for the caller.
//!
//! What would be stored is asked of the MPI library first where the question has no effect: a size that does not fit into an `int` would be
//! an error, or MPI_UNDEFINED. Where it has one (a buffer is detached), the call goes past the layer once a buffer was attached past it.

use std::ffi::c_int;
use std::sync::atomic::{AtomicUsize, Ordering};

use qmpi_abi::FnId;
use qmpi_abi::large_counts::Width;
use qmpi_abi::parameters::Direction;

/// The most words that such a function takes.
pub(super) const WORDS: usize = 7;

/// Any of these functions: what a function does not take does no harm to it (psABI 3.2.3, AAPCS64 6.4).
type Function = extern "C" fn(usize, usize, usize, usize, usize, usize, usize) -> c_int;

/// What a function's arguments are, as far as they are converted.
#[derive(Debug)]
pub(super) struct Stored {
    /// Counts that are arguments.
    values: Vec<usize>,
    /// Where it stores a count, and whether it reads it before.
    stored: Vec<(usize, bool)>,
    before: Before,
}

/// What is looked at before the layer's function is called.
#[derive(Debug)]
enum Before {
    /// The MPI library is asked what would be stored.
    Ask(usize),
    /// How many buffers were attached past the layer?
    Attached(Option<&'static AtomicUsize>),
    /// The arguments alone tell.
    Nothing,
}

impl Stored {
    /// `real` is the MPI library's function. `attached` counts, for a function that detaches a buffer, how many were attached past the layer.
    pub(super) fn of(function: FnId, large: FnId, real: usize, attached: Option<&'static AtomicUsize>) -> Stored {
        let (narrow, wide) = (function.parameters(), large.parameters());
        let of_width = |width| (0..wide.len()).filter(move |place| Width::of(&narrow[*place], &wide[*place]) == width);
        let stored: Vec<_> =
            of_width(Width::Stored).map(|place| (place, wide[place].direction == Direction::InOut)).collect();
        let before = if large.attaching_with_large_counts().is_some() {
            Before::Attached(attached)
        } else if stored.iter().any(|(_, is_read)| *is_read) {
            Before::Nothing
        } else {
            Before::Ask(real)
        };
        Stored { values: of_width(Width::Value).collect(), stored, before }
    }

    /// Does everything fit into `int`s? `Err`: what the MPI library's function returned instead of an answer.
    fn fits(&self, words: [usize; WORDS]) -> Result<bool, c_int> {
        let is_int = |value: i64| i32::try_from(value).is_ok();
        if !self.values.iter().all(|place| is_int(words[*place] as i64)) {
            return Ok(false);
        }
        match self.before {
            Before::Attached(count) => Ok(count.is_none_or(|count| count.load(Ordering::Relaxed) == 0)),
            Before::Nothing => {
                let read = self.stored.iter().filter(|(place, _)| words[*place] != 0);
                // SAFETY: the function reads a number of 64 bits there.
                let mut read =
                    read.map(|(place, _)| unsafe { std::ptr::with_exposed_provenance::<i64>(words[*place]).read() });
                Ok(read.all(is_int))
            }
            Before::Ask(real) => {
                let mut answers = [0i64; WORDS];
                let mut asked = words;
                for (place, _) in self.stored.iter().filter(|(place, _)| words[*place] != 0) {
                    asked[*place] = (&raw mut answers[*place]).expose_provenance();
                }
                match invoke(real, asked) {
                    0 => Ok(answers.into_iter().all(is_int)),
                    code => Err(code),
                }
            }
        }
    }

    /// Makes a call of the layer's function at `seen`; `None`: the call has to go past the layer.
    pub(super) fn call(&self, seen: usize, words: [usize; WORDS]) -> Option<c_int> {
        match self.fits(words) {
            Err(code) => return Some(code),
            Ok(fits) => fits.then_some(())?,
        }
        let mut narrow = [0 as c_int; WORDS];
        let mut passed = words;
        for (place, is_read) in self.stored.iter().filter(|(place, _)| words[*place] != 0) {
            if *is_read {
                // SAFETY: the function reads a number of 64 bits there, which fits.
                narrow[*place] = unsafe { std::ptr::with_exposed_provenance::<i64>(words[*place]).read() } as c_int;
            }
            passed[*place] = (&raw mut narrow[*place]).expose_provenance();
        }
        let code = invoke(seen, passed);
        if code == 0 {
            for (place, _) in self.stored.iter().filter(|(place, _)| words[*place] != 0) {
                // SAFETY: the function stores a number of 64 bits there.
                unsafe { std::ptr::with_exposed_provenance_mut::<i64>(words[*place]).write(narrow[*place].into()) };
            }
        }
        Some(code)
    }
}

/// Calls such a function.
pub(super) fn invoke(address: usize, words: [usize; WORDS]) -> c_int {
    let [a, b, c, d, e, f, g] = words;
    // SAFETY: the address of such a function.
    let function = unsafe { std::mem::transmute::<usize, Function>(address) };
    function(a, b, c, d, e, f, g)
}
