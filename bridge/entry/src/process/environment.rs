//! The environment, and what it says of a stack.
#![expect(unsafe_code, reason = "reads the C strings of `environ`")]

use core::ffi::CStr;

use qmpi_ring::environment::{Array, find};

unsafe extern "C" {
    static environ: Array;
}

/// The value of a variable, read from `environ` itself: `getenv` may be another library's.
pub(crate) fn get(name: &str) -> Option<&'static [u8]> {
    // SAFETY: the C library's variable, an array of C strings; null if the program has cleared its environment.
    let value = unsafe { find(environ, name.as_bytes()) }?;
    // SAFETY: the end of one of these C strings.
    Some(unsafe { CStr::from_ptr(value) }.to_bytes())
}

/// Is the variable set, and not empty?
fn is_set(name: &str) -> bool {
    get(name).is_some_and(|value| !value.is_empty())
}

/// Variables that say something of a stack; the last is the 2018 prototype's.
const SETTINGS: [&str; 8] = [
    "QMPI_TOOL_LIST",
    "QMPI_CONFIG",
    "QMPI_TOOL_PATH",
    "QMPI_ON_ERROR",
    "QMPI_LOG",
    "QMPI_REPORT",
    "QMPI_TRACE",
    "TOOLS",
];

/// Does the environment say anything of a stack? What that is, and whether it makes sense, is the core's business.
pub(crate) fn names_a_stack() -> bool {
    SETTINGS.into_iter().any(is_set)
}

/// Is the stack to be set up in processes without MPI, too?
pub(crate) fn means_all_processes() -> bool {
    get("QMPI_PROCESSES") == Some(b"all")
}

/// Is the job under `qmpi run --mpir`?
pub(crate) fn is_under_mpir() -> bool {
    is_set("QMPI_MPIR")
}

/// Is this a rank of a job that was given this library, and none of the variables that belong to it? They may have been lost on
/// the way.
pub(crate) fn has_lost_a_stack() -> bool {
    let is_rank = get("OMPI_COMM_WORLD_SIZE").is_some() || get("PMI_SIZE").is_some();
    is_rank && ["QMPI_TOOL_LIST", "QMPI_CONFIG", "TOOLS"].into_iter().all(|name| get(name).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test: there is one environment.
    #[test]
    fn variables_of_the_environment() {
        let set = |name: &str, value: &str| {
            // SAFETY: no other test of this program reads or changes the environment.
            unsafe { std::env::set_var(name, value) }
        };
        for name in SETTINGS.into_iter().chain(["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]) {
            // SAFETY: no other test of this program reads or changes the environment.
            unsafe { std::env::remove_var(name) };
        }
        assert!(!names_a_stack() && !has_lost_a_stack());
        set("QMPI_TOOL_LISTS", "a");
        set("XQMPI_TOOL_LIST", "a");
        assert_eq!(get("QMPI_TOOL_LIST"), None, "a name that begins or ends like it");
        set("PMI_SIZE", "2");
        assert!(has_lost_a_stack());
        set("QMPI_TOOL_LIST", "");
        assert_eq!(get("QMPI_TOOL_LIST"), Some(&b""[..]));
        assert!(!names_a_stack() && !has_lost_a_stack(), "an empty list is no stack, and not lost");
        set("TOOLS", "a=b");
        assert_eq!(get("TOOLS"), Some(&b"a=b"[..]));
        assert!(names_a_stack());
    }
}
