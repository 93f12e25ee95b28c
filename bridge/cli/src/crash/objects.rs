//! The objects that are mapped, with their tables for unwinding: read from memory, so that files of memory count as well, and each
//! instance of a tool by itself.

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianArcSlice, LittleEndian, Pointer};
use object::elf::{FileHeader64, PF_X, PT_GNU_EH_FRAME, PT_LOAD, ProgramHeader64};
use object::endian::LittleEndian as Endian;
use object::read::elf::{FileHeader, ProgramHeader};

use super::arch;
use super::process::Process;
use crate::mapping::Mapping;

/// Bytes of memory as gimli reads them.
pub type Reader = EndianArcSlice<LittleEndian>;

/// A mapped ELF object.
pub struct Object {
    /// Where its header is.
    pub start: u64,
    /// Behind its last segment.
    pub end: u64,
    /// What is added to the addresses in the file.
    pub bias: u64,
    /// As in its first mapping.
    pub path: String,
    /// What unwinding needs; `None` where it has none.
    pub frames: Option<Frames>,
}

/// `.eh_frame` and its index.
pub struct Frames {
    /// The bytes from the section's start to the end of its segment.
    pub section: EhFrame<Reader>,
    /// The index.
    pub index: gimli::ParsedEhFrameHdr<Reader>,
    /// Where they are.
    pub bases: BaseAddresses,
}

/// All mappings and objects.
pub struct Objects {
    /// In ascending order.
    pub mappings: Vec<Mapping>,
    /// In ascending order.
    pub objects: Vec<Object>,
}

impl Objects {
    /// Those of a process.
    #[must_use]
    pub fn of(process: &Process) -> Objects {
        let maps = process.maps();
        let mappings: Vec<Mapping> = maps.lines().filter_map(Mapping::parse).collect();
        let first = mappings.iter().filter(|mapping| mapping.offset == 0 && mapping.is_readable);
        let objects = first.filter_map(|mapping| Object::read(process, mapping)).collect();
        Objects { mappings, objects }
    }

    /// The mapping that has this address.
    #[must_use]
    pub fn mapping(&self, address: u64) -> Option<&Mapping> {
        self.mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))
    }

    /// Is there code at this address?
    #[must_use]
    pub fn is_code(&self, address: u64) -> bool {
        self.mapping(address).is_some_and(|mapping| mapping.is_code)
    }

    /// The object that has this address.
    #[must_use]
    pub fn object(&self, address: u64) -> Option<&Object> {
        self.objects.iter().rev().find(|object| (object.start..object.end).contains(&address))
    }
}

impl Object {
    fn read(process: &Process, mapping: &Mapping) -> Option<Object> {
        let bytes = process.read(mapping.start, size_of::<FileHeader64<Endian>>())?;
        let header = FileHeader64::<Endian>::parse(&*bytes).ok()?;
        let endian = header.endian().ok()?;
        let count = usize::from(header.e_phnum.get(endian));
        let size = size_of::<ProgramHeader64<Endian>>();
        let table = process.read(mapping.start.checked_add(header.e_phoff.get(endian))?, count * size)?;
        let (segments, _) = object::pod::slice_from_bytes::<ProgramHeader64<Endian>>(&table, count).ok()?;
        let loaded = || segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD);
        let first = loaded().map(|segment| segment.p_vaddr(endian)).min()? / 4096 * 4096;
        let bias = mapping.start.wrapping_sub(first);
        let last = loaded().map(|segment| segment.p_vaddr(endian).saturating_add(segment.p_memsz(endian))).max()?;
        let end = bias.wrapping_add(last);
        // A file that is mapped to be read, and not to run, has no code there.
        if end <= mapping.start || !loaded().any(|segment| segment.p_flags(endian) & PF_X != 0) {
            return None;
        }
        let index = segments.iter().find(|segment| segment.p_type(endian) == PT_GNU_EH_FRAME);
        let frames = index.and_then(|index| {
            let place = bias.wrapping_add(index.p_vaddr(endian));
            let end_of = |address: u64| {
                let mut ends = loaded().map(|segment| {
                    let start = bias.wrapping_add(segment.p_vaddr(endian));
                    (start, start.wrapping_add(segment.p_filesz(endian)))
                });
                ends.find(|(start, end)| (*start..*end).contains(&address)).map(|(_, end)| end)
            };
            Frames::read(process, place, index.p_memsz(endian), &end_of)
        });
        Some(Object { start: mapping.start, end, bias, path: mapping.path.clone(), frames })
    }
}

impl Frames {
    fn read(process: &Process, place: u64, size: u64, end_of: &dyn Fn(u64) -> Option<u64>) -> Option<Frames> {
        let bases = BaseAddresses::default().set_eh_frame_hdr(place);
        let index = reader(process.read(place, usize::try_from(size).ok()?)?);
        let index = EhFrameHdr::from(index).parse(&bases, 8).ok()?;
        let Pointer::Direct(section) = index.eh_frame_ptr() else { return None };
        let bases = bases.set_eh_frame(section);
        let length = end_of(section)?.checked_sub(section)?;
        let bytes = process.read(section, usize::try_from(length).ok()?)?;
        index.table()?;
        let mut section = EhFrame::from(reader(bytes));
        section.set_vendor(arch::VENDOR);
        Some(Frames { section, index, bases })
    }
}

fn reader(bytes: Vec<u8>) -> Reader {
    Reader::new(bytes.into(), LittleEndian)
}
