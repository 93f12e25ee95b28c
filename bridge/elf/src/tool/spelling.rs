//! Functions of the C library that it has under several names: a wrapper of one often goes on with another.
//!
//! | function | its other names |
//! |---|---|
//! | `open` | `open64`, `__open_2`, `__libc_open` |
//! | `fscanf` | `vfscanf`, `__isoc99_fscanf`, `__isoc23_vfscanf` |
//! | `fprintf` | `vfprintf`, `__fprintf_chk`, `__vfprintf_chk` |
//! | `stat` | `stat64`, `__xstat`, `__xstat64` |

/// What stands before a function's name where a library has it under another one; the linker's `--wrap` adds the first.
const PREFIXES: [&str; 6] = ["__real_", "__libc_", "__isoc99_", "__isoc23_", "_IO_", "__"];

/// The name that stands for this one and all others of the same function.
pub fn plain(name: &str) -> &str {
    let without_prefix = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let mut plain = without_prefix.unwrap_or(name);
    if without_prefix.is_some() {
        plain = plain.strip_suffix("_chk").or_else(|| plain.strip_suffix("_2")).unwrap_or(plain);
    }
    plain = plain.strip_suffix("64").unwrap_or(plain);
    match plain {
        "" => name,
        "xstat" => "stat",
        "fxstat" => "fstat",
        "lxstat" => "lstat",
        "fxstatat" => "fstatat",
        _ => plain.strip_prefix('v').filter(|rest| formats(rest)).unwrap_or(plain),
    }
}

/// Does it take a format, and have a form with `v` that takes the other arguments as a `va_list`?
fn formats(plain: &str) -> bool {
    plain.ends_with("printf") || plain.ends_with("scanf") || plain == "syslog"
}

/// The other names under which a wrapper of `name` may look the next function up.
pub(super) fn looked_up_as(name: &str) -> Vec<String> {
    let plain = plain(name);
    let is_spelling =
        name.ends_with("64") || name.starts_with("__") && (name.ends_with("_2") || name.ends_with("_chk"));
    let mut names = Vec::new();
    if formats(plain) {
        names.extend(["v", "__isoc99_v", "__isoc23_v"].map(|prefix| format!("{prefix}{plain}")));
        names.push(format!("__v{plain}_chk"));
    }
    names.extend((is_spelling || formats(plain)).then(|| plain.to_owned()));
    names.retain(|other| other != name);
    names
}

/// The functions that an import of `name` may go on for: it is the same function under a name that callers do not use, or its form
/// with `v`.
pub(super) fn imported_for(name: &str) -> Vec<String> {
    let mut functions: Vec<String> =
        PREFIXES.iter().filter_map(|prefix| name.strip_prefix(prefix)).map(str::to_owned).collect();
    for prefix in ["", "__isoc99_", "__isoc23_", "__"] {
        let without_v = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('v'));
        functions.extend(without_v.filter(|rest| formats(plain(rest))).map(|rest| format!("{prefix}{rest}")));
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_function() {
        for (plain_name, others) in [
            ("open", &["open64", "__open_2", "__open64_2", "__libc_open", "__real_open", "__open"][..]),
            ("fscanf", &["vfscanf", "__isoc99_fscanf", "__isoc23_vfscanf"]),
            ("fprintf", &["vfprintf", "__fprintf_chk", "__vfprintf_chk"]),
            ("fread", &["__fread_chk"]),
            ("stat", &["stat64", "__xstat", "__xstat64"]),
            ("getc", &["_IO_getc"]),
            ("dup2", &[]),
            ("vfork", &[]),
            ("64", &[]),
        ] {
            assert_eq!(plain(plain_name), plain_name);
            for other in others {
                assert_eq!(plain(other), plain_name, "{other}");
            }
        }
    }

    #[test]
    fn other_names_are_of_the_same_function() {
        for name in ["open64", "__open_2", "fprintf", "__isoc99_fscanf", "__vfprintf_chk", "__xstat64"] {
            let others = looked_up_as(name);
            assert!(!others.is_empty() && others.iter().all(|other| plain(other) == plain(name)), "{name}: {others:?}");
        }
        assert!(["open", "dup2", "sem_init_2", "_Z4openPKc"].iter().all(|name| looked_up_as(name).is_empty()));
        for (import, function) in [
            ("__real_open", "open"),
            ("vprintf", "printf"),
            ("__isoc99_vfscanf", "__isoc99_fscanf"),
            ("__isoc23_vfscanf", "vfscanf"),
        ] {
            assert!(imported_for(import).iter().any(|name| name == function), "{import}");
        }
        assert!(imported_for("vfork").is_empty() && imported_for("open").is_empty());
    }
}
