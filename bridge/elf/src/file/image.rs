//! The bytes of one ELF file: positioned, bounded reads by file offset or by address.
//!
//! Knows the program headers and nothing of what the tables contain.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use goblin::container::{Container, Ctx, Endian};
use goblin::elf::program_header::{self, ProgramHeader};
use goblin::elf::{header, header::header64};
use qmpi_dynamic::Machine;

use crate::error::{ElfError, ElfErrorReason as Reason, FileKind, ObjectKind};
use crate::machine;

/// No table of a real library comes near this; a sparse file may claim any size.
const MAX_TABLE: u64 = 1 << 28;

/// Sizes of the structures in a 64-bit file (System V gABI, chapter 4).
pub(crate) const PHDR_SIZE: u16 = 56;

/// How goblin is to read: 64-bit, little-endian (see `machine`).
pub(crate) const CTX: Ctx = Ctx { container: Container::Big, le: Endian::Little };

/// An open ELF file of one of the known machines, with its program headers.
#[derive(Debug)]
pub(crate) struct OpenFile {
    pub(crate) path: PathBuf,
    file: File,
    pub(crate) size: u64,
    /// Device and inode: the same file under two names is one object, as for ld.so.
    pub(crate) identity: (u64, u64),
    pub(crate) object_type: u16,
    pub(crate) machine: Machine,
    pub(crate) segments: Vec<ProgramHeader>,
}

impl OpenFile {
    /// One that is for this machine, or for any that is known.
    pub(crate) fn open(path: &Path, machine: Option<Machine>) -> Result<OpenFile, ElfError> {
        let failed = |reason| ElfError { path: path.to_owned(), reason };
        let (file, metadata) = open_regular(path).map_err(failed)?;
        let mut image = OpenFile {
            path: path.to_owned(),
            file,
            size: metadata.len(),
            identity: identity(&metadata),
            object_type: 0,
            machine: machine.unwrap_or(Machine::HOST),
            segments: Vec::new(),
        };
        if image.size == 0 {
            // /proc/self/fd/N of a memfd that was never written to, or a plain empty file.
            return Err(failed(Reason::Empty));
        }
        let head = image.read_up_to(0, 256)?;
        let header;
        (header, image.machine) = check_header(&head, machine).map_err(failed)?;
        image.object_type = header.e_type;
        image.segments = image.read_segments(&header)?;
        Ok(image)
    }

    fn read_segments(&self, header: &header64::Header) -> Result<Vec<ProgramHeader>, ElfError> {
        const TABLE: &str = "program header table";
        if header.e_phentsize != PHDR_SIZE || header.e_phnum == u16::MAX {
            let detail = format!("{} entries of {} bytes", header.e_phnum, header.e_phentsize);
            return Err(self.malformed(TABLE, detail));
        }
        let size = u64::from(header.e_phnum) * u64::from(PHDR_SIZE);
        if header.e_phoff.checked_add(size).is_none_or(|end| end > self.size) {
            return Err(self.truncated(TABLE));
        }
        let bytes = self.read(TABLE, header.e_phoff, size)?;
        let segments = ProgramHeader::parse(&bytes, 0, usize::from(header.e_phnum), CTX)
            .map_err(|error| self.malformed(TABLE, error.to_string()))?;
        // ld.so maps what is not there as well, and the process dies when it is touched.
        let is_cut = |segment: &ProgramHeader| {
            // What is behind the end of the file is zero up to the end of the page. A segment is not longer than in memory.
            let size = segment.p_filesz.min(segment.p_memsz);
            segment.p_type == program_header::PT_LOAD
                && segment.p_offset.checked_add(size).is_none_or(|end| end > page_end(self.size))
        };
        if segments.iter().any(is_cut) {
            return Err(self.truncated("a loaded segment"));
        }
        Ok(segments)
    }

    /// Exactly `size` bytes at `offset`, with zeros behind the end of the file up to the end of its last page, as in a mapping.
    pub(crate) fn read(&self, table: &'static str, offset: u64, size: u64) -> Result<Vec<u8>, ElfError> {
        let end = offset.checked_add(size).ok_or_else(|| self.truncated(table))?;
        if end > page_end(self.size) {
            return Err(self.truncated(table));
        }
        if size > MAX_TABLE {
            return Err(self.malformed(table, format!("{size} bytes long")));
        }
        let mut bytes = vec![0; size as usize];
        let there = usize::try_from(self.size.saturating_sub(offset).min(size)).unwrap_or(0);
        self.file.read_exact_at(&mut bytes[..there], offset).map_err(|source| match source.kind() {
            // The file shrank since it was opened.
            io::ErrorKind::UnexpectedEof => self.truncated(table),
            _ => self.failed(Reason::Unreadable(source)),
        })?;
        Ok(bytes)
    }

    /// At most `size` bytes at `offset`, fewer at the end of the file.
    pub(crate) fn read_up_to(&self, offset: u64, size: u64) -> Result<Vec<u8>, ElfError> {
        let size = size.min(self.size.saturating_sub(offset));
        self.read("file", offset, size)
    }

    /// File offset of an address, and how many bytes of the file follow it in its segment.
    ///
    /// As the kernel maps it: whole pages, of which the last segment's count where several have an address.
    pub(crate) fn locate(&self, table: &'static str, address: u64) -> Result<(u64, u64), ElfError> {
        locate(&self.segments, self.size, address).ok_or_else(|| self.truncated(table))
    }

    pub(crate) fn failed(&self, reason: Reason) -> ElfError {
        ElfError { path: self.path.clone(), reason }
    }

    pub(crate) fn truncated(&self, table: &'static str) -> ElfError {
        self.failed(Reason::Truncated(table))
    }

    pub(crate) fn malformed(&self, table: &'static str, detail: impl Into<String>) -> ElfError {
        self.failed(Reason::Malformed { table, detail: detail.into() })
    }
}

/// Checks in the order in which a user would want to hear it: is it ELF, for this machine, a library.
fn check_header(head: &[u8], wanted: Option<Machine>) -> Result<(header64::Header, Machine), Reason> {
    const HEADER: &str = "the ELF header";
    if !head.starts_with(header::ELFMAG) {
        return Err(Reason::NotElf(FileKind::of(head)));
    }
    let ident = head.get(..header::SIZEOF_IDENT).ok_or(Reason::Truncated(HEADER))?;
    match (ident[header::EI_CLASS], ident[header::EI_DATA]) {
        (header::ELFCLASS64, machine::HOST_BYTE_ORDER) => {}
        // i386 and armhf users read "32-bit" more easily than a machine's name; others want the name.
        (header::ELFCLASS32, machine::HOST_BYTE_ORDER) => return Err(Reason::WrongClass),
        (_, header::ELFDATA2MSB) => return Err(Reason::WrongByteOrder),
        (class, data) => {
            return Err(Reason::Malformed {
                table: "ELF header",
                detail: format!("class {class}, data encoding {data}"),
            });
        }
    }
    let header = head.get(..header64::SIZEOF_EHDR).and_then(|bytes| header64::Header::parse(bytes).ok());
    let header = header.ok_or(Reason::Truncated(HEADER))?;
    let machine = machine::known(header.e_machine).filter(|machine| wanted.is_none_or(|wanted| wanted == *machine));
    let machine = machine.ok_or_else(|| Reason::ForeignMachine(machine::name(header.e_machine)))?;
    let kind = match header.e_type {
        header::ET_DYN | header::ET_EXEC => return Ok((header, machine)),
        header::ET_REL => ObjectKind::Relocatable,
        header::ET_CORE => ObjectKind::Core,
        other => ObjectKind::Other(other),
    };
    Err(Reason::NotSharedObject(kind))
}

/// What is mapped comes in pages; no supported machine has smaller ones.
const PAGE: u64 = 0x1000;

/// Where an address is in a file of `size` bytes, and how many bytes of its segment are mapped from it on.
pub(crate) fn locate(segments: &[ProgramHeader], size: u64, address: u64) -> Option<(u64, u64)> {
    let in_file = page_end(size);
    let mapped = |segment: &ProgramHeader| {
        let before = segment.p_vaddr % PAGE;
        let into = address.checked_sub(segment.p_vaddr - before)?;
        let size = segment.p_filesz.checked_add(before)?;
        // Behind the file's part of a longer segment all is zero.
        let size = if segment.p_memsz > segment.p_filesz { size } else { page_end(size) };
        let offset = segment.p_offset.checked_sub(before)?.checked_add(into)?;
        let left = size.checked_sub(into)?.min(in_file.checked_sub(offset)?);
        (left > 0).then_some((offset, left))
    };
    segments.iter().rev().filter(|segment| segment.p_type == program_header::PT_LOAD).find_map(mapped)
}

/// The end of the page that this end of something lies in.
fn page_end(end: u64) -> u64 {
    end.checked_next_multiple_of(PAGE).unwrap_or(end)
}

/// Device and inode.
pub(crate) fn identity(file: &fs::Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

/// Opens a file after making sure that opening it cannot block.
fn open_regular(path: &Path) -> Result<(File, fs::Metadata), Reason> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::NotFound,
        _ => Reason::Unreadable(source),
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    if metadata.is_dir() {
        return Err(Reason::IsDirectory);
    }
    if !metadata.is_file() {
        return Err(Reason::NotRegular);
    }
    let file = File::open(path).map_err(failed)?;
    // Asked again of the open file: the name may have been given to another one in between.
    let metadata = file.metadata().map_err(failed)?;
    Ok((file, metadata))
}
