//! The first phases of translation (C11 5.1.1.2): continued lines are joined, comments become blanks.

/// `text` without comments and continued lines.
///
/// ```text
/// before   int MPI_Send(const void *buf, /* count */ int n); // old
/// after    int MPI_Send(const void *buf,   int n);
/// ```
pub(crate) fn strip(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace("\\\n", "");
    let mut rest = text.as_str();
    let mut out = String::with_capacity(text.len());
    while let Some(at) = rest.find(['/', '"', '\'']) {
        let (before, here) = rest.split_at(at);
        out.push_str(before);
        let taken = if let Some(inside) = here.strip_prefix("/*") {
            // One blank, also for a comment of many lines: a directive goes on behind it.
            out.push(' ');
            inside.find("*/").map_or(here.len(), |end| end + 4)
        } else if here.starts_with("//") {
            here.find('\n').unwrap_or(here.len())
        } else if here.starts_with('/') {
            out.push('/');
            1
        } else {
            let end = literal(here);
            out.push_str(&here[..end]);
            end
        };
        rest = &here[taken..];
    }
    out.push_str(rest);
    out
}

/// Length of the string or character literal at the start of `text`.
///
/// Ends at the end of the line at the latest: an apostrophe in an `#error` line opens nothing.
fn literal(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return at,
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::strip;

    #[test]
    fn comments_and_continuations() {
        assert_eq!(strip("a/* ; */b"), "a b");
        assert_eq!(strip("a// b\nc"), "a\nc");
        assert_eq!(strip("#define X \\\n 1\nint"), "#define X  1\nint");
        assert_eq!(strip("a / b"), "a / b");
        assert_eq!(strip("open /* never closed"), "open  ");
    }

    #[test]
    fn literals_hide_comments() {
        assert_eq!(strip(r#"__dep__("see // or /* \" */ x");"#), r#"__dep__("see // or /* \" */ x");"#);
        assert_eq!(strip("#error don't // now\nint"), "#error don't // now\nint");
    }
}
