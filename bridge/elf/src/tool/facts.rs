//! What is seen in the symbols of a tool and its private libraries, beyond MPI, and which of them are worth seeing.

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Functions of glibc that an object defines itself: (object, name).
    pub(crate) interposed: Vec<(String, String)>,
    /// Watched imports: (object, name).
    pub(crate) imports: Vec<(String, &'static str)>,
    /// Definitions that mean something to others than MPI programs.
    pub(crate) marks: Vec<&'static str>,
    /// STB_GNU_UNIQUE definitions of the root.
    pub(crate) unique: usize,
    /// Objects other than MPI's by name that define `PMPI_*`.
    pub(crate) second_mpi: Vec<String>,
    /// `PMPI_*` that the root defines.
    pub(crate) own_profiling: Vec<String>,
    /// Objects that read the environment without `getenv`.
    pub(crate) scans_environ: Vec<String>,
    /// The root has the string `LD_PRELOAD`.
    pub(crate) names_ld_preload: bool,
}

/// The names of glibc's pointer to the environment.
pub(crate) const ENVIRON: [&str; 3] = ["environ", "__environ", "_environ"];

/// Functions whose import matters. Sorted.
const WATCHED: &[&str] = &[
    "clearenv",
    "dl_iterate_phdr",
    "dlmopen",
    "dlopen",
    "dlsym",
    "dlvsym",
    "gotcha_wrap",
    "putenv",
    "setenv",
    "unsetenv",
];

/// The watched function of this name.
pub(crate) fn watched(name: &str) -> Option<&'static str> {
    WATCHED.binary_search(&name).ok().map(|index| WATCHED[index])
}

/// Functions of glibc that tools define to see an application's calls. Sorted.
const INTERPOSABLE: &[&str] = &[
    "accept",
    "aio_read",
    "aio_write",
    "calloc",
    "clone",
    "close",
    "connect",
    "creat",
    "creat64",
    "dlclose",
    "dlopen",
    "dup",
    "dup2",
    "execl",
    "execle",
    "execlp",
    "execv",
    "execve",
    "execvp",
    "exit",
    "fclose",
    "fdatasync",
    "fdopen",
    "fgets",
    "fopen",
    "fopen64",
    "fork",
    "fprintf",
    "fread",
    "free",
    "freopen",
    "fscanf",
    "fseek",
    "fsync",
    "fwrite",
    "lseek",
    "lseek64",
    "malloc",
    "memalign",
    "mkstemp",
    "mmap",
    "mmap64",
    "munmap",
    "open",
    "open64",
    "openat",
    "openat64",
    "pipe",
    "poll",
    "posix_memalign",
    "pread",
    "pread64",
    "pthread_barrier_wait",
    "pthread_cond_broadcast",
    "pthread_cond_signal",
    "pthread_cond_wait",
    "pthread_create",
    "pthread_exit",
    "pthread_join",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pwrite",
    "pwrite64",
    "raise",
    "read",
    "readv",
    "realloc",
    "recv",
    "recvfrom",
    "rename",
    "select",
    "sem_post",
    "sem_wait",
    "send",
    "sendto",
    "shmat",
    "shmdt",
    "sigaction",
    "signal",
    "sleep",
    "socket",
    "stat",
    "stat64",
    "unlink",
    "usleep",
    "valloc",
    "vfork",
    "write",
    "writev",
];

/// Whether a definition of this name takes a function of glibc from the application under LD_PRELOAD.
pub(crate) fn interposes(name: &str) -> bool {
    // Turns most names away before the search.
    name.len() <= 22
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && INTERPOSABLE.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(WATCHED.is_sorted());
        assert!(INTERPOSABLE.is_sorted());
    }
}
