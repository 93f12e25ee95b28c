//! Which libraries are glibc: they exist once per process and are never loaded into a namespace.
//!
//! Two of them in one process would have two heaps, two sets of stdio buffers and colliding TLS keys.

use crate::file::ElfFile;

/// The SONAMEs of glibc's shared libraries.
///
/// Installed by glibc 2.17 to 2.43 on Linux; NSS modules (`libnss_files.so.2`, ...) are recognised by prefix. `libnsl.so.1` and
/// `libthread_db.so.1` are here because they need GLIBC_PRIVATE. `libnsl.so.2` is a project of its own, and two copies of `libcrypt.so.1`
/// do no harm. `libmemusage.so`, `libpcprofile.so` and `libSegFault.so` are preloaded only.
const MEMBERS: &[&str] = &[
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
    "libanl.so.1",
    "libnsl.so.1",
    "libBrokenLocale.so.1",
    "libthread_db.so.1",
    "libc_malloc_debug.so.0",
];

/// NSS modules that come with glibc; others (`libnss_sss.so.2`, `libnss_ldap.so.2`) are loaded by
/// the process's libc, too.
const NSS_PREFIX: &str = "libnss_";

/// Whether a SONAME belongs to glibc.
pub fn is_glibc_family(name: &str) -> bool {
    MEMBERS.contains(&name) || (name.starts_with(NSS_PREFIX) && name.contains(".so"))
}

/// Whether a name is the dynamic linker's: `ld-linux-x86-64.so.2`, `ld-linux-aarch64.so.1`, `ld64.so.2`.
/// In every namespace glibc itself puts the one real ld.so in its place.
pub fn is_dynamic_linker(name: &str) -> bool {
    ["ld-linux", "ld64.so", "ld.so", "ld-2."].iter().any(|prefix| name.starts_with(prefix)) && name.contains(".so")
}

/// Language run-time libraries, of which each namespace has its own even where the MPI library brought them: they hold no state of MPI, and
/// what Fortran reads from the environment is the instance's. The C++ library has thread-local variables that others refer to, which a
/// provider cannot have.
const LANGUAGE_RUNTIMES: [&str; 3] = ["libstdc++.so.", "libgfortran.so.", "libquadmath.so."];

/// Whether a SONAME is that of a language run-time library.
pub fn is_language_runtime(name: &str) -> bool {
    LANGUAGE_RUNTIMES.iter().any(|prefix| name.starts_with(prefix))
}

/// The rule by inspection: what needs `GLIBC_PRIVATE` of libc or ld.so shares their internal state
/// (thread-local variables among it) and must be the process's own, never a second copy.
pub fn requires_glibc_private(file: &ElfFile) -> bool {
    file.version_needs
        .iter()
        .any(|need| need.name == "GLIBC_PRIVATE" && (is_glibc_family(&need.file) || is_dynamic_linker(&need.file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linker::search::SearchPath;

    #[test]
    fn names() {
        for name in ["libc.so.6", "libm.so.6", "libnss_files.so.2", "libresolv.so.2"] {
            assert!(is_glibc_family(name), "{name}");
        }
        for name in ["libc++.so.1", "libcrypt.so.1", "libstdc++.so.6", "libnsl.so.2", "libnss3.so", "libmpi.so.40"] {
            assert!(!is_glibc_family(name), "{name}");
        }
        assert!(is_dynamic_linker("ld-linux-x86-64.so.2"));
        assert!(!is_dynamic_linker("libld.so"));
    }

    #[test]
    fn libresolv_is_found_by_inspection_as_well() -> Result<(), crate::ElfError> {
        let search = SearchPath::new(None);
        for (name, private) in [("libresolv.so.2", true), ("libgcc_s.so.1", false)] {
            match search.find_by_name(name) {
                Some(path) => assert_eq!(requires_glibc_private(&ElfFile::open(&path)?), private, "{name}"),
                None => eprintln!("skipped: no {name} here"),
            }
        }
        Ok(())
    }
}
