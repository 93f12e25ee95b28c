//! What values of handles, addresses and numbers are called in each MPI: `bridge/abi/constants.tsv`, and the addresses of a process.

use std::collections::{BTreeMap, HashMap};

use qmpi_abi::MpiFamily;
use qmpi_abi::constants::Constant;
use qmpi_abi::parameters::Kind;

/// The constants of one process.
#[derive(Debug)]
pub(super) struct Constants {
    pub(crate) family: MpiFamily,
    names: HashMap<(Kind, i64), &'static str>,
    values: HashMap<&'static str, i64>,
    /// The value that all requests have which Open MPI has completed at once.
    empty_request: Option<u64>,
    /// Kinds whose values are added up.
    flags: Vec<(Kind, i64, &'static str)>,
}

impl Constants {
    /// Those of `family`, where these objects are.
    pub(super) fn new(family: MpiFamily, objects: &BTreeMap<String, u64>) -> Self {
        let empty_request = objects.get("ompi_request_empty").copied();
        let mut constants =
            Self { family, names: HashMap::new(), values: HashMap::new(), empty_request, flags: Vec::new() };
        for constant in Constant::all() {
            let name = constant.name;
            let kind = Kind::ALL.iter().find(|(_, word)| *word == constant.kind).map(|(kind, _)| *kind);
            let Some(kind) = kind else { continue };
            for value in constant.values(family) {
                let value = match value.strip_prefix('&') {
                    Some(object) => objects.get(object).map(|address| address.cast_signed()),
                    None => value.parse().ok(),
                };
                let Some(value) = value else { continue };
                // Names of types that an MPI does not have stand for its null handle.
                let known = constants.names.entry((kind, value)).or_insert(name);
                if name.ends_with("_NULL") {
                    *known = name;
                }
                constants.values.entry(name).or_insert(value);
                if matches!(kind, Kind::Assertion | Kind::AccessMode) {
                    constants.flags.push((kind, value, name));
                }
            }
        }
        constants
    }

    pub(super) fn name(&self, kind: Kind, value: i64) -> Option<&'static str> {
        self.names.get(&(kind, value)).copied()
    }

    pub(super) fn value(&self, name: &str) -> Option<i64> {
        self.values.get(name).copied()
    }

    /// `MPI_MODE_CREATE|MPI_MODE_RDWR`, if all bits have names.
    pub(super) fn sum(&self, kind: Kind, value: i64) -> Option<String> {
        let parts: Vec<&(Kind, i64, &str)> =
            self.flags.iter().filter(|(of, bit, _)| *of == kind && value & bit == *bit).collect();
        let all = parts.iter().fold(0, |sum, (_, bit, _)| sum | bit);
        let names: Vec<&str> = parts.iter().map(|(_, _, name)| *name).collect();
        (value != 0 && all == value).then(|| names.join("|"))
    }

    /// Has the MPI one value for all requests that it has completed at once, and is it this one?
    pub(super) fn is_shared_request(&self, handle: u64) -> bool {
        match self.family {
            // Builtin handles, whose highest bits are 01.
            MpiFamily::Mpich => (handle as u32) >> 30 == 1,
            MpiFamily::OpenMpi => self.empty_request == Some(handle),
            // Which values these are is not known: MPICH 5 has some, at addresses of its own.
            MpiFamily::StandardAbi => true,
        }
    }

    /// Bytes of a handle.
    pub(super) fn handle_bytes(&self, kind: Kind) -> usize {
        if self.family == MpiFamily::Mpich && kind != Kind::File { 4 } else { 8 }
    }

    /// A handle as constants have it: those that are `int` are so with their sign.
    pub(super) fn handle(&self, kind: Kind, word: u64) -> i64 {
        if self.handle_bytes(kind) == 4 { i64::from(word as i32) } else { word.cast_signed() }
    }
}
