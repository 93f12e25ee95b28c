//! Why a file cannot be used as a tool or library, in one line, and what to do about it.
//!
//! Not responsible for printing: the caller prints `Display` after its own prefix and
//! [`ElfError::hint`] on a line of its own.

use std::io;
use std::path::PathBuf;

use crate::machine;

/// What a file that is not ELF looks like, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    name: &'static str,
    /// What the user can do.
    hint: Option<&'static str>,
}

const fn kind(name: &'static str, hint: &'static str) -> FileKind {
    FileKind { name, hint: Some(hint) }
}

const NOT_A_SCRIPT: &str = "name the .so file of the tool, not a script";
const FOR_LINUX: &str = "get the tool's build for Linux";
/// A text file that tells `ld` which libraries to use instead (`GROUP ( ... )`, `INPUT ( ... )`).
const LINKER_SCRIPT: FileKind = kind(
    "a linker script (text)",
    "it is for ld; name the library that it points to (often the one with a version number)",
);
const LIBTOOL_ARCHIVE: FileKind = kind("a libtool .la file (text)", "name the .so file, often in .libs/ next to it");
const SCRIPT: FileKind = kind("a script (text)", NOT_A_SCRIPT);
const TEXT: FileKind = kind("a text file", NOT_A_SCRIPT);
const ARCHIVE: FileKind = kind(
    "a static library (ar archive)",
    "link it to a shared library: cc -shared -Wl,--whole-archive LIB.a -Wl,--no-whole-archive -o LIB.so",
);
const PE: FileKind = kind("a Windows program or DLL", FOR_LINUX);
const MACH_O: FileKind = kind("a macOS binary", FOR_LINUX);
/// A compiler's intermediate code (link-time optimization without a native object).
const LLVM_BITCODE: FileKind = kind("LLVM bitcode", "build it without -flto, or link it with -shared");
const COMPRESSED: FileKind = kind("compressed data", "unpack it first");
const UNKNOWN: FileKind = FileKind { name: "data of an unknown kind", hint: None };

impl FileKind {
    /// Judges a file by its first bytes.
    pub fn of(head: &[u8]) -> FileKind {
        const MAGIC: [(&[u8], FileKind); 14] = [
            (b"!<arch>", ARCHIVE),
            (b"!<thin>", ARCHIVE),
            (b"MZ", PE),
            (b"\xcf\xfa\xed\xfe", MACH_O),
            (b"\xce\xfa\xed\xfe", MACH_O),
            (b"\xca\xfe\xba\xbe", MACH_O),
            (b"\xfe\xed\xfa\xcf", MACH_O),
            (b"BC\xc0\xde", LLVM_BITCODE),
            (b"\x1f\x8b", COMPRESSED),
            (b"\xfd7zXZ", COMPRESSED),
            (b"BZh", COMPRESSED),
            (b"PK\x03\x04", COMPRESSED),
            (b"\x28\xb5\x2f\xfd", COMPRESSED),
            (b"#!", SCRIPT),
        ];
        let known = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, kind)| *kind);
        // The read may have cut a UTF-8 sequence at its end: only control bytes tell text from data.
        let is_text = !head.iter().any(|&byte| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c));
        match known {
            Some(kind) if is_text || kind != SCRIPT => return kind,
            _ if !is_text => return UNKNOWN,
            _ => {}
        }
        let text = String::from_utf8_lossy(head);
        if text.contains("libtool library file") {
            LIBTOOL_ARCHIVE
        } else if ["GNU ld script", "INPUT", "GROUP", "OUTPUT_FORMAT"].iter().any(|word| text.contains(word)) {
            LINKER_SCRIPT
        } else {
            TEXT
        }
    }
}

/// An ELF file that is not a shared object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ObjectKind {
    /// `ET_EXEC`, or `ET_DYN` with `DF_1_PIE`.
    #[error("an executable")]
    Executable,
    /// `ET_REL`: a `.o` file.
    #[error("a relocatable object (.o)")]
    Relocatable,
    /// `ET_CORE`.
    #[error("a core dump")]
    Core,
    /// Any other `e_type`.
    #[error("an ELF file of type {0}")]
    Other(u16),
}

/// A file could not be inspected. `Display` is one line that names the file and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ElfError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: ElfErrorReason,
}

/// Why a file could not be inspected.
#[derive(Debug, thiserror::Error)]
pub enum ElfErrorReason {
    /// No such file.
    #[error("no such file")]
    NotFound,
    /// The file is there but cannot be opened or read.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// A directory was given.
    #[error("is a directory, not a library")]
    IsDirectory,
    /// A device, socket or FIFO; opening it could block.
    #[error("is not a regular file")]
    NotRegular,
    /// The file has no content.
    #[error("is empty")]
    Empty,
    /// The file does not start with the ELF magic number.
    #[error("not an ELF file but {}", .0.name)]
    NotElf(FileKind),
    /// 32-bit where 64-bit is needed.
    #[error("a 32-bit library; a 64-bit one is needed here")]
    WrongClass,
    /// The other byte order.
    #[error("big-endian; this machine is not")]
    WrongByteOrder,
    /// Made for another processor.
    #[error("built for {0}; this machine is {host}", host = machine::HOST_NAME)]
    ForeignMachine(String),
    /// ELF, but not a library.
    #[error("{0}, not a shared object")]
    NotSharedObject(ObjectKind),
    /// No PT_DYNAMIC: nothing for the dynamic linker to bind.
    #[error("has no dynamic section (statically linked)")]
    Static,
    /// This table lies beyond the end of the file or of its segment.
    #[error("truncated: {0} lies outside of the file")]
    Truncated(&'static str),
    /// A table contradicts itself.
    #[error("malformed {table}: {detail}")]
    Malformed {
        /// Which table.
        table: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

impl ElfError {
    /// What the user can do about it: one sentence, or `None` when the message says it all.
    pub fn hint(&self) -> Option<String> {
        use ElfErrorReason as Reason;
        let hint = match &self.reason {
            Reason::NotFound => "check the spelling, and that the file exists on this node",
            Reason::Unreadable(source) if source.kind() == io::ErrorKind::PermissionDenied => {
                "the file and every directory above it must be readable for you"
            }
            Reason::Unreadable(_) => "check the file system that holds it",
            Reason::IsDirectory => {
                return Some(format!("name the library itself, as in {}/libtool.so", self.path.display()));
            }
            Reason::NotRegular | Reason::NotSharedObject(ObjectKind::Core | ObjectKind::Other(_)) => {
                "name the .so file of the tool"
            }
            Reason::Empty => "the build or the copy of this file did not finish; make it again",
            Reason::NotElf(kind) => kind.hint?,
            Reason::WrongClass => "build the tool with -m64, or look in lib64",
            Reason::WrongByteOrder | Reason::ForeignMachine(_) => {
                return Some(format!("build the tool for {}", machine::HOST_NAME));
            }
            Reason::NotSharedObject(ObjectKind::Executable) => {
                "a tool is a shared library (.so); programs go behind `--`"
            }
            Reason::NotSharedObject(ObjectKind::Relocatable) => {
                "link it: cc -shared FILE.o -o LIB.so (objects built with -fPIC)"
            }
            Reason::Static => "link the tool with -shared and without -static",
            Reason::Truncated(_) => "the copy of this file did not finish, or the disk is full; copy it again",
            Reason::Malformed { .. } => "the file is damaged, or a tool rewrote it wrongly; build it again",
        };
        Some(hint.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_first_bytes() {
        for (head, kind) in [
            (&b"/* GNU ld script */\nGROUP ( /lib/x )"[..], LINKER_SCRIPT),
            (b"INPUT(libmpi.so.12)", LINKER_SCRIPT),
            (b"# libx.la - a libtool library file\n", LIBTOOL_ARCHIVE),
            (b"#!/bin/sh\n", SCRIPT),
            (b"hello", TEXT),
            (b"!<arch>\n", ARCHIVE),
            (b"MZ\x90\0", PE),
            (b"\xcf\xfa\xed\xfe", MACH_O),
            (b"\x1f\x8b\x08", COMPRESSED),
            (b"\x7fELX\0\0", UNKNOWN),
        ] {
            assert_eq!(FileKind::of(head), kind, "{head:?}");
        }
    }

    #[test]
    fn messages_are_one_line_and_name_the_file() {
        let error = ElfError { path: "/x/libfoo.so".into(), reason: ElfErrorReason::NotElf(ARCHIVE) };
        assert_eq!(error.to_string(), "/x/libfoo.so: not an ELF file but a static library (ar archive)");
        assert!(error.hint().is_some_and(|hint| hint.contains("-shared")));
    }
}
