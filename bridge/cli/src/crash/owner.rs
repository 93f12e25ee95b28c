//! Whose code an object is.

use std::fmt;
use std::path::{Path, PathBuf};

use qmpi_elf::is_mpi_soname;

use super::objects::Object;
use super::process::Process;

/// Of a library in a private namespace, at most so many are looked at.
const OBJECTS: usize = 10_000;

/// A layer, as the process has described it (`qmpi_ring::crash::Layers`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// 1: the outermost.
    pub number: u32,
    /// Its name in messages.
    pub label: String,
    /// Its file, without links.
    path: PathBuf,
    /// The addresses of its objects.
    objects: Vec<(u64, u64)>,
    /// `l_addr` of all objects of its namespace.
    namespace: Vec<u64>,
    /// It is being loaded: where its objects are is not known.
    is_loading: bool,
}

/// Whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// A layer's; of a library that is in the process once, any of several.
    Layers(Vec<Layer>),
    /// The program's.
    Program,
    /// The MPI library's, or a library's that belongs to it.
    Mpi,
    /// This product's.
    Qmpi,
    /// Another library's.
    Library,
    /// Nobody's: there is no code.
    Nobody,
}

/// Who there is.
pub struct Owners {
    layers: Vec<Layer>,
    /// `l_addr` of the objects of the program's namespace.
    base: Vec<u64>,
    program: PathBuf,
}

impl Owners {
    /// Those of a process, of which `text` says which layers it has.
    #[must_use]
    pub fn read(process: &Process, text: &str, program: PathBuf) -> Owners {
        let base = text.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("base\t")?, 16).ok());
        let base = base.map(|first| namespace(process, first)).unwrap_or_default();
        let layers = text.lines().filter_map(|line| Layer::parse(line, &|first| namespace(process, first))).collect();
        Owners { layers, base, program }
    }

    /// Is anything known of layers?
    #[must_use]
    pub fn has_layers(&self) -> bool {
        !self.layers.is_empty()
    }

    /// Whose the object is.
    #[must_use]
    pub fn of(&self, object: Option<&Object>) -> Owner {
        let Some(object) = object else { return Owner::Nobody };
        let path = Path::new(&object.path);
        let is_base = self.base.contains(&object.bias);
        let name = file_name(&object.path);
        let is_private = !is_base && !is_linker(path) && !name.starts_with("libqmpi");
        let of = |is_own: &dyn Fn(&Layer) -> bool| -> Vec<Layer> {
            self.layers.iter().filter(|layer| is_own(layer)).cloned().collect()
        };
        let rules: [&dyn Fn(&Layer) -> bool; 5] = [
            &|layer| layer.objects.iter().any(|(start, end)| (*start..*end).contains(&object.start)),
            // Libraries that a tool has opened.
            &|layer| is_private && layer.namespace.contains(&object.bias),
            // Of one that is being loaded no addresses are known yet.
            &|layer| layer.is_loading && layer.path == path,
            &|layer| layer.is_loading && is_private && !self.base.is_empty() && path.is_absolute() && path.exists(),
            // A QMPI tool is in the program's namespace.
            &|layer| is_base && layer.objects.is_empty() && layer.path == path,
        ];
        let layers = rules.into_iter().map(of).find(|layers| !layers.is_empty()).unwrap_or_default();
        match () {
            () if !layers.is_empty() => Owner::Layers(layers),
            () if path == self.program => Owner::Program,
            () if name.starts_with("libqmpi") => Owner::Qmpi,
            () if is_mpi_soname(name) || is_of_mpi(name) => Owner::Mpi,
            () => Owner::Library,
        }
    }
}

impl Layer {
    fn parse(line: &str, namespace: &dyn Fn(u64) -> Vec<u64>) -> Option<Layer> {
        let mut fields = line.split('\t');
        let (state, number) = fields.next()?.split_once(' ')?;
        let label = fields.next()?.to_owned();
        let path = Path::new(fields.next()?);
        let first = u64::from_str_radix(fields.next()?, 16).ok()?;
        let range = |text: &str| {
            let (start, end) = text.split_once('-')?;
            Some((u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?))
        };
        Some(Layer {
            number: number.parse().ok()?,
            label,
            path: path.canonicalize().unwrap_or_else(|_| path.to_owned()),
            objects: fields.next().unwrap_or_default().split(',').filter_map(range).collect(),
            namespace: if first == 0 { Vec::new() } else { namespace(first) },
            is_loading: state == "loading",
        })
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_loading { ", which is being loaded" } else { "" };
        write!(f, "layer {}, {}{state}", self.number, self.label)
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layers(layers) => {
                let names: Vec<String> = layers.iter().map(Layer::to_string).collect();
                f.write_str(&names.join(" or "))
            }
            Self::Program => f.write_str("program"),
            Self::Mpi => f.write_str("MPI library"),
            Self::Qmpi => f.write_str("libqmpi"),
            Self::Library => f.write_str("library"),
            Self::Nobody => f.write_str("no code"),
        }
    }
}

/// The last part of a path, without what the kernel adds for files that are gone.
#[must_use]
pub fn file_name(path: &str) -> &str {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let path = path.strip_prefix("/memfd:").unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

fn is_linker(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
}

/// Open MPI's run-time libraries, plugins of it, and what MPICH and Open MPI communicate by.
fn is_of_mpi(name: &str) -> bool {
    [
        "libopen-rte.so",
        "libopen-pal.so",
        "mca_",
        "libpmix.so",
        "libucp.so",
        "libucs.so",
        "libuct.so",
        "libucm.so",
        "libfabric.so",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

/// `l_addr` of the objects from this one on (`struct link_map` of link.h).
fn namespace(process: &Process, first: u64) -> Vec<u64> {
    let mut map = first;
    let mut found = Vec::new();
    while map != 0 && found.len() < OBJECTS {
        let Some(bias) = process.word(map) else { break };
        found.push(bias);
        map = process.word(map.wrapping_add(24)).unwrap_or(0);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_layer() {
        let layer = Layer::parse("layer 2\tlat[1]\t/nowhere/lat.so\t0\t1000-2000,3000-3800", &|_| vec![7]).unwrap();
        assert_eq!((layer.number, layer.objects.len(), layer.to_string()), (2, 2, "layer 2, lat[1]".to_owned()));
        let layer = Layer::parse("loading 1\ta\t/nowhere/a.so\tff\t", &|first| vec![first]).unwrap();
        assert_eq!((layer.namespace.as_slice(), layer.objects.len()), (&[255][..], 0));
        assert_eq!(layer.to_string(), "layer 1, a, which is being loaded");
    }

    #[test]
    fn names_of_files() {
        assert_eq!(file_name("/memfd:qmpi-libmpi.so.40 (deleted)"), "qmpi-libmpi.so.40");
        assert_eq!(file_name("/usr/lib/libc.so.6"), "libc.so.6");
    }
}
