//! Why a file cannot be used as a tool or library, in one line, and what to do about it.
//!
//! Not responsible for printing: the caller prints `Display` after its own prefix and
//! [`Error::hint`] on a line of its own.

use std::io;
use std::path::{Path, PathBuf};

use crate::machine;

/// What a file that is not ELF looks like, judged by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A text file that tells `ld` which libraries to use instead (`GROUP ( ... )`, `INPUT ( ... )`).
    LinkerScript,
    /// A libtool `.la` file.
    LibtoolArchive,
    /// A file that starts with `#!`.
    Script,
    /// Any other text.
    Text,
    /// A static library, `!<arch>` or `!<thin>`.
    Archive,
    /// A Windows executable or DLL.
    Pe,
    /// A macOS binary.
    MachO,
    /// A compiler's intermediate code (link-time optimization without a native object).
    LlvmBitcode,
    /// Compressed data.
    Compressed,
    /// Nothing that we know.
    Unknown,
}

impl FileKind {
    /// Judges a file by its first bytes.
    pub fn of(head: &[u8]) -> FileKind {
        const MACH_O: [[u8; 4]; 4] =
            [[0xcf, 0xfa, 0xed, 0xfe], [0xce, 0xfa, 0xed, 0xfe], [0xca, 0xfe, 0xba, 0xbe], [0xfe, 0xed, 0xfa, 0xcf]];
        if head.starts_with(b"!<arch>") || head.starts_with(b"!<thin>") {
            return FileKind::Archive;
        }
        if head.starts_with(b"MZ") {
            return FileKind::Pe;
        }
        if MACH_O.iter().any(|magic| head.starts_with(magic)) {
            return FileKind::MachO;
        }
        if head.starts_with(b"BC\xc0\xde") {
            return FileKind::LlvmBitcode;
        }
        if [&b"\x1f\x8b"[..], b"\xfd7zXZ", b"BZh", b"PK\x03\x04", b"\x28\xb5\x2f\xfd"]
            .iter()
            .any(|magic| head.starts_with(magic))
        {
            return FileKind::Compressed;
        }
        // The read may have cut a UTF-8 sequence at its end: only control bytes tell text from data.
        let is_text = !head.iter().any(|&byte| byte < 0x20 && !matches!(byte, b'\n' | b'\r' | b'\t' | 0x0c));
        if !is_text {
            return FileKind::Unknown;
        }
        let text = String::from_utf8_lossy(head);
        if head.starts_with(b"#!") {
            FileKind::Script
        } else if text.contains("libtool library file") {
            FileKind::LibtoolArchive
        } else if ["GNU ld script", "INPUT", "GROUP", "OUTPUT_FORMAT"].iter().any(|word| text.contains(word)) {
            FileKind::LinkerScript
        } else {
            FileKind::Text
        }
    }

    fn describe(self) -> &'static str {
        match self {
            FileKind::LinkerScript => "a linker script (text)",
            FileKind::LibtoolArchive => "a libtool .la file (text)",
            FileKind::Script => "a script (text)",
            FileKind::Text => "a text file",
            FileKind::Archive => "a static library (ar archive)",
            FileKind::Pe => "a Windows program or DLL",
            FileKind::MachO => "a macOS binary",
            FileKind::LlvmBitcode => "LLVM bitcode",
            FileKind::Compressed => "compressed data",
            FileKind::Unknown => "data of an unknown kind",
        }
    }
}

/// An ELF file that is not a shared object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// `ET_EXEC`, or `ET_DYN` with `DF_1_PIE`.
    Executable,
    /// `ET_REL`: a `.o` file.
    Relocatable,
    /// `ET_CORE`.
    Core,
    /// Any other `e_type`.
    Other(u16),
}

impl ObjectKind {
    fn describe(self) -> String {
        match self {
            ObjectKind::Executable => "an executable".into(),
            ObjectKind::Relocatable => "a relocatable object (.o)".into(),
            ObjectKind::Core => "a core dump".into(),
            ObjectKind::Other(number) => format!("an ELF file of type {number}"),
        }
    }
}

/// A file could not be inspected. `Display` is one line that names the file and the reason.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such file.
    #[error("{}: no such file", path.display())]
    NotFound {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file is there but cannot be opened or read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// The system's reason.
        #[source]
        source: io::Error,
    },
    /// A directory was given.
    #[error("{}: is a directory, not a library", path.display())]
    IsDirectory {
        /// The directory.
        path: PathBuf,
    },
    /// A device, socket or FIFO; opening it could block.
    #[error("{}: is not a regular file", path.display())]
    NotRegular {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file has no content.
    #[error("{}: is empty", path.display())]
    Empty {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file does not start with the ELF magic number.
    #[error("{}: not an ELF file but {}", path.display(), kind.describe())]
    NotElf {
        /// The file asked for.
        path: PathBuf,
        /// What it seems to be.
        kind: FileKind,
    },
    /// 32-bit where 64-bit is needed.
    #[error("{}: a 32-bit library; a 64-bit one is needed here", path.display())]
    WrongClass {
        /// The file asked for.
        path: PathBuf,
    },
    /// The other byte order.
    #[error("{}: {order}-endian; this machine is not", path.display())]
    WrongByteOrder {
        /// The file asked for.
        path: PathBuf,
        /// `big` or `little`, or an invalid value.
        order: &'static str,
    },
    /// Made for another processor.
    #[error("{}: built for {machine}; this machine is {}", path.display(), machine::HOST_NAME)]
    ForeignMachine {
        /// The file asked for.
        path: PathBuf,
        /// The processor's name.
        machine: String,
    },
    /// ELF, but not a library.
    #[error("{}: {}, not a shared object", path.display(), kind.describe())]
    NotSharedObject {
        /// The file asked for.
        path: PathBuf,
        /// What it is.
        kind: ObjectKind,
    },
    /// No PT_DYNAMIC: nothing for the dynamic linker to bind.
    #[error("{}: has no dynamic section (statically linked)", path.display())]
    Static {
        /// The file asked for.
        path: PathBuf,
    },
    /// A table lies beyond the end of the file or of its segment.
    #[error("{}: truncated: {table} lies outside of the file", path.display())]
    Truncated {
        /// The file asked for.
        path: PathBuf,
        /// Which table.
        table: &'static str,
    },
    /// A table contradicts itself.
    #[error("{}: malformed {table}: {detail}", path.display())]
    Malformed {
        /// The file asked for.
        path: PathBuf,
        /// Which table.
        table: &'static str,
        /// What is wrong with it.
        detail: String,
    },
}

impl Error {
    /// The file that the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Error::NotFound { path }
            | Error::Unreadable { path, .. }
            | Error::IsDirectory { path }
            | Error::NotRegular { path }
            | Error::Empty { path }
            | Error::NotElf { path, .. }
            | Error::WrongClass { path }
            | Error::WrongByteOrder { path, .. }
            | Error::ForeignMachine { path, .. }
            | Error::NotSharedObject { path, .. }
            | Error::Static { path }
            | Error::Truncated { path, .. }
            | Error::Malformed { path, .. } => path,
        }
    }

    /// What the user can do about it: one sentence, or `None` when the message says it all.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Error::NotFound { .. } => "check the spelling, and that the file exists on this node".into(),
            Error::Unreadable { source, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    "the file and every directory above it must be readable for you".into()
                }
                _ => "check the file system that holds it".into(),
            },
            Error::IsDirectory { path } => {
                format!("name the library itself, as in {}/libtool.so", path.display())
            }
            Error::NotRegular { .. } => "name the .so file of the tool".into(),
            Error::Empty { .. } => "the build or the copy of this file did not finish; make it again".into(),
            Error::NotElf { kind, .. } => match kind {
                FileKind::LinkerScript => {
                    "it is for ld; name the library that it points to (often the one with a version number)".into()
                }
                FileKind::LibtoolArchive => "name the .so file, often in .libs/ next to it".into(),
                FileKind::Archive => {
                    "link it to a shared library: cc -shared -Wl,--whole-archive LIB.a -Wl,--no-whole-archive -o LIB.so"
                        .into()
                }
                FileKind::Script | FileKind::Text => "name the .so file of the tool, not a script".into(),
                FileKind::Compressed => "unpack it first".into(),
                FileKind::Pe | FileKind::MachO => "get the tool's build for Linux".into(),
                FileKind::LlvmBitcode => "build it without -flto, or link it with -shared".into(),
                FileKind::Unknown => return None,
            },
            Error::WrongClass { .. } => "build the tool with -m64, or look in lib64".into(),
            Error::WrongByteOrder { .. } | Error::ForeignMachine { .. } => {
                format!("build the tool for {}", machine::HOST_NAME)
            }
            Error::NotSharedObject { kind, .. } => match kind {
                ObjectKind::Executable => "a tool is a shared library (.so); programs go behind `--`".into(),
                ObjectKind::Relocatable => "link it: cc -shared FILE.o -o LIB.so (objects built with -fPIC)".into(),
                ObjectKind::Core | ObjectKind::Other(_) => "name the .so file of the tool".into(),
            },
            Error::Static { .. } => "link the tool with -shared and without -static".into(),
            Error::Truncated { .. } => {
                "the copy of this file did not finish, or the disk is full; copy it again".into()
            }
            Error::Malformed { .. } => "the file is damaged, or a tool rewrote it wrongly; build it again".into(),
        };
        Some(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_by_the_first_bytes() {
        for (head, kind) in [
            (&b"/* GNU ld script */\nGROUP ( /lib/x )"[..], FileKind::LinkerScript),
            (b"INPUT(libmpi.so.12)", FileKind::LinkerScript),
            (b"# libx.la - a libtool library file\n", FileKind::LibtoolArchive),
            (b"#!/bin/sh\n", FileKind::Script),
            (b"hello", FileKind::Text),
            (b"!<arch>\n", FileKind::Archive),
            (b"MZ\x90\0", FileKind::Pe),
            (b"\xcf\xfa\xed\xfe", FileKind::MachO),
            (b"\x1f\x8b\x08", FileKind::Compressed),
            (b"\x7fELX\0\0", FileKind::Unknown),
        ] {
            assert_eq!(FileKind::of(head), kind, "{head:?}");
        }
    }

    #[test]
    fn messages_are_one_line_and_name_the_file() {
        let error = Error::NotElf { path: "/x/libfoo.so".into(), kind: FileKind::Archive };
        assert_eq!(error.to_string(), "/x/libfoo.so: not an ELF file but a static library (ar archive)");
        assert!(error.hint().is_some_and(|hint| hint.contains("-shared")));
    }
}
