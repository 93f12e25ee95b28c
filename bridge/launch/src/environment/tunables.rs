//! `GLIBC_TUNABLES`: room for the thread-local storage of the tools.
//!
//! A library with initial-exec TLS (DF_STATIC_TLS) needs a place in every thread's static TLS block. For libraries that come
//! after program start glibc keeps 512 bytes spare (`glibc.rtld.optional_static_tls`, elf/dl-tls.c), once for all. The
//! tunable is read before `main`, so the process that starts the program has to set it.

/// What glibc keeps spare by itself.
pub const DEFAULT_SPARE: u64 = 512;

const KEY: &str = "glibc.rtld.optional_static_tls";

/// The value that `GLIBC_TUNABLES` must have so that `needed` bytes of static TLS fit; `None` if the default does.
///
/// Other tunables stay, and so does a larger number that is there already.
pub fn with_static_tls(existing: Option<&str>, needed: u64) -> Option<String> {
    if needed <= DEFAULT_SPARE {
        return None;
    }
    // The default on top: the MPI library's own plug-ins, opened later, count on it.
    let wanted = (needed + DEFAULT_SPARE).next_multiple_of(64);
    let entries = existing.unwrap_or_default().split(':').filter(|entry| !entry.is_empty());
    let (own, mut entries): (Vec<&str>, Vec<&str>) = entries.partition(|entry| entry.split('=').next() == Some(KEY));
    let given = own.iter().filter_map(|entry| number(entry.split_once('=')?.1)).max().unwrap_or(0);
    let entry = format!("{KEY}={}", wanted.max(given));
    entries.push(&entry);
    Some(entries.join(":"))
}

/// As glibc reads it: decimal, `0x` hexadecimal or `0` octal.
fn number(text: &str) -> Option<u64> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        u64::from_str_radix(hex, 16).ok()
    } else if let Some(octal) = text.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        u64::from_str_radix(octal, 8).ok()
    } else {
        text.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_suffices() {
        assert_eq!(with_static_tls(None, 0), None);
        assert_eq!(with_static_tls(Some("glibc.malloc.perturb=1"), 512), None);
    }

    #[test]
    fn more_is_needed() {
        assert_eq!(with_static_tls(None, 1000).unwrap(), format!("{KEY}=1536"));
    }

    #[test]
    fn merged_with_what_is_there() {
        let merged = |existing: &str| with_static_tls(Some(existing), 1000).unwrap();
        assert_eq!(merged("glibc.malloc.perturb=1"), format!("glibc.malloc.perturb=1:{KEY}=1536"));
        assert_eq!(merged(&format!("{KEY}=64:a=b")), format!("a=b:{KEY}=1536"));
        assert_eq!(merged(&format!("{KEY}=0x4000")), format!("{KEY}=16384"));
        assert_eq!(merged(&format!("{KEY}=010")), format!("{KEY}=1536"));
    }
}
