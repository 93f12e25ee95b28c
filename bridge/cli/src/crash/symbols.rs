//! Functions and lines of addresses, from the files of the objects and, where a file has no debug information, from the one that a
//! distribution keeps beside it under its build id.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{EndianRcSlice, LittleEndian};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

type Reader = EndianRcSlice<LittleEndian>;

/// What is known of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The function.
    pub function: Option<String>,
    /// How far behind its start, where it is a function of the symbol table.
    pub offset: Option<u64>,
    /// `FILE:LINE`
    pub line: Option<String>,
}

/// The files that were looked at.
#[derive(Default)]
pub struct Symbols(HashMap<PathBuf, Option<File>>);

struct File {
    functions: Vec<Function>,
    lines: Option<addr2line::Context<Reader>>,
}

struct Function {
    start: u64,
    size: u64,
    name: String,
}

impl Symbols {
    /// The function at an address of the file, and before it those that were inlined there, innermost first.
    pub fn find(&mut self, path: &Path, address: u64) -> Vec<Place> {
        let file = self.0.entry(path.to_owned()).or_insert_with(|| File::open(path));
        file.as_ref().map(|file| file.find(address)).unwrap_or_default()
    }
}

impl File {
    fn open(path: &Path) -> Option<File> {
        let bytes = std::fs::read(path).ok()?;
        let file = object::File::parse(&*bytes).ok()?;
        let mut functions = functions(&file);
        let mut lines = lines(&file);
        let id = file.build_id().ok().flatten().filter(|id| id.len() > 1);
        if let (None, Some(id)) = (&lines, id) {
            let digits: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
            let path = format!("/usr/lib/debug/.build-id/{}/{}.debug", &digits[..2], &digits[2..]);
            if let Some(bytes) = std::fs::read(path).ok().as_deref()
                && let Ok(debug) = object::File::parse(bytes)
            {
                functions.extend(self::functions(&debug));
                lines = self::lines(&debug);
            }
        }
        functions.sort_by_key(|function| function.start);
        Some(File { functions, lines })
    }

    fn find(&self, address: u64) -> Vec<Place> {
        let end = self.functions.partition_point(|function| function.start <= address);
        // A function of the file itself has a size; what lies between two of them is neither's.
        let function =
            self.functions[..end].iter().rev().take(8).find(|function| address < function.start + function.size);
        let of_table = Place {
            function: function
                .map(|function| addr2line::demangle_auto(function.name.as_str().into(), None).into_owned()),
            offset: function.map(|function| address - function.start),
            line: None,
        };
        let mut places = Vec::new();
        if let Some(lines) = &self.lines
            && let Ok(mut frames) = lines.find_frames(address).skip_all_loads()
        {
            while let Ok(Some(frame)) = frames.next() {
                let line = frame.location.and_then(|location| {
                    let file = Path::new(location.file?).file_name()?.to_string_lossy();
                    Some(format!("{file}:{}", location.line?))
                });
                let name = frame.function.and_then(|name| Some(name.demangle().ok()?.into_owned()));
                places.push(Place { function: name, offset: None, line });
            }
        }
        match places.last_mut() {
            None => places.push(of_table),
            Some(last) if of_table.function.is_some() => {
                *last = Place { line: last.line.take(), ..of_table };
            }
            Some(_) => {}
        }
        places
    }
}

fn functions(file: &object::File<'_>) -> Vec<Function> {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    let functions = functions.filter_map(|symbol| {
        let name = symbol.name().ok().filter(|name| !name.is_empty())?;
        // Written in assembler: up to the next symbol, as far as is known.
        let size = if symbol.size() == 0 { 1 } else { symbol.size() };
        Some(Function { start: symbol.address(), size, name: name.to_owned() })
    });
    functions.collect()
}

fn lines(file: &object::File<'_>) -> Option<addr2line::Context<Reader>> {
    file.section_by_name(".debug_info").or_else(|| file.section_by_name(".zdebug_info"))?;
    let load = |section: gimli::SectionId| -> Result<Reader, gimli::Error> {
        let data = file.section_by_name(section.name()).and_then(|section| section.uncompressed_data().ok());
        Ok(Reader::new(Rc::from(data.unwrap_or_default().into_owned()), LittleEndian))
    };
    addr2line::Context::from_dwarf(gimli::Dwarf::load(load).ok()?).ok()
}
