//! What a value of `LD_PRELOAD` says (ld.so(8)): files separated by spaces or colons, with no way to escape one.

/// The variable's name.
pub const VARIABLE: &str = "LD_PRELOAD";

/// The file name of the runtime.
pub const RUNTIME: &str = "libqmpi.so";

/// The files in it.
pub fn entries(value: &str) -> impl Iterator<Item = &str> {
    value.split([' ', ':']).filter(|entry| !entry.is_empty())
}

/// The last part of an entry.
pub fn file_name(entry: &str) -> &str {
    entry.rsplit('/').next().unwrap_or(entry)
}

/// Whether the runtime is in it.
pub fn has_runtime(value: &str) -> bool {
    entries(value).any(|entry| file_name(entry) == RUNTIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_under_any_path() {
        assert!(has_runtime("a.so:/q/libqmpi.so"));
        assert!(has_runtime("libqmpi.so a.so"));
        assert!(!has_runtime("/q/libqmpi.so.old:/libqmpi.so/a.so"));
        assert!(!has_runtime(""));
    }
}
