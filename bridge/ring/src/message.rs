//! The end of a process in which nothing can be done, in one line: for libraries without `std`.
#![expect(unsafe_code, reason = "write and _exit")]

/// Exit status of a process whose stack cannot be set up, or that called what there is not.
const SETUP_FAILED: i32 = 3;
/// Longer lines are cut off.
const LINE: usize = 8192;

/// Prints `qmpi: error: ` and the parts of the reason, and a line for the hint, and ends the process.
pub fn fatal(reason: &[&[u8]], hint: Option<&str>) -> ! {
    write(b"qmpi: error: ", reason);
    if let Some(hint) = hint {
        write(b"qmpi: hint: ", &[hint.as_bytes()]);
    }
    // SAFETY: no memory is touched; the process ends here.
    unsafe { libc::_exit(SETUP_FAILED) }
}

/// One line by one `write(2)`.
fn write(head: &[u8], parts: &[&[u8]]) {
    let mut line = [0; LINE];
    let len = fill(&mut line, head, parts);
    // Not by `write`, which before glibc 2.34 is one of libpthread.so.0 as well: a build for these releases that refers to it needs that
    // library, and so would each process, which then counts as one with threads.
    // SAFETY: `len` bytes of `line` are written. Nothing is to be done if stderr is closed.
    unsafe { libc::syscall(libc::SYS_write, 2, line.as_ptr(), len) };
}

/// Fills in a line, cut off where it does not fit, and returns its length. It ends with its only newline.
fn fill(line: &mut [u8; LINE], head: &[u8], parts: &[&[u8]]) -> usize {
    let mut len = 0;
    let bytes =
        head.iter().chain(parts.iter().copied().flatten()).map(|byte| if *byte == b'\n' { b' ' } else { *byte });
    // The newline has a place.
    for (place, byte) in line.iter_mut().zip(bytes.take(LINE - 1).chain([b'\n'])) {
        *place = byte;
        len += 1;
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line() {
        let mut line = [0; LINE];
        let len = fill(&mut line, b"qmpi: ", &[b"a\nb", b"", b"c\n"]);
        assert_eq!(&line[..len], b"qmpi: a bc \n");
        assert_eq!(fill(&mut line, b"", &[]), 1);
    }

    #[test]
    fn a_long_message_is_cut_off() {
        let mut line = [0; LINE];
        // Miri takes seconds for each.
        for len in [LINE, LINE - 1, LINE - 2, 3 * LINE].into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
            let filled = fill(&mut line, b"", &["x".repeat(len).as_bytes()]);
            assert_eq!(filled, len.min(LINE - 1) + 1);
            assert!(line[..filled - 1].iter().all(|byte| *byte == b'x') && line[filled - 1] == b'\n');
        }
    }
}
