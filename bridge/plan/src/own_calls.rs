//! What a layer with `own_calls = "hidden"` passes on, and what it asks MPI for itself.
//!
//! Inside of a wrapper of f, a call of f goes on to the next layer. All others are the layer's own: other functions, and calls outside
//! of its wrappers, from constructors, exit handlers, callbacks and threads of its own. f may be a function of MPI, or another one that
//! layers wrap.

use qmpi_abi::FnId;
use qmpi_elf::tool::wrapped::is_of_allocator;

/// Functions that begin and end MPI for the whole process: a layer below that missed one would have no report, or none at all.
const ALWAYS: [&str; 4] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort"];

/// Functions that end the process, or make another one of it.
const OF_PROCESS: &str = "\
    _Exit _exit abort clone execl execle execlp execv execve execveat execvp execvpe exit fexecve fork quick_exit \
    syscall vfork";

/// Does a call of this function, which is not MPI's, go on to the next layer, wherever it is made?
///
/// Layers below that missed the end of the process would have no report; and a block of memory is the program's or the tool's own, but
/// functions that take it back do not tell.
pub fn other_always_passes_on(name: &str) -> bool {
    is_of_allocator(name) || OF_PROCESS.split(' ').any(|known| known == name)
}

/// Does a call of this function go on to the next layer, wherever it is made?
pub fn always_passes_on(id: FnId) -> bool {
    ALWAYS.contains(&id.name())
}

/// The function that stands for this one and its spelling for large counts: a wrapper of one may go on with the other.
pub fn same_function(id: FnId) -> FnId {
    let plain = id.name().strip_suffix("_c").or_else(|| id.name().strip_suffix("_x"));
    plain.and_then(FnId::by_name).unwrap_or(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(name: &str) -> &'static str {
        same_function(FnId::by_name(name).unwrap()).name()
    }

    #[test]
    fn spellings() {
        assert_eq!(same("MPI_Send"), "MPI_Send");
        assert_eq!(same("MPI_Send_c"), "MPI_Send");
        assert_eq!(same("MPI_Type_size_x"), "MPI_Type_size");
        assert_eq!(same("MPI_Comm_f2c"), "MPI_Comm_f2c");
        assert!(other_always_passes_on("execve") && other_always_passes_on("free") && !other_always_passes_on("open"));
        assert!(ALWAYS.iter().all(|name| FnId::by_name(name).is_some_and(always_passes_on)));
    }
}
