//! Which `mpi.h` has what a prototype needs, as a condition for the C preprocessor.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;

use crate::numbering::{HeaderNumbering, Release, release};
use crate::read::header::{Header, Label};
use crate::read::prototype::Prototype;
use crate::standard::{DefinedBy, StandardVersion};
use crate::table::FunctionList;
use crate::text::pattern;

/// Types of MPI and of its vendors in the text of a type, and C's only type that needs a header.
static TYPE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:(?:MPIX?_|ompi_)\w+|bool\b)"));

/// Types that not every header has, whatever its version, and how to tell. Other types of vendors are those of MPICH
/// releases that have QMPI themselves.
const SPECIAL_TYPES: [(&str, &str); 7] = [
    // The standard ABI leaves the conversions from and to Fortran out.
    ("MPI_Fint", "!defined(MPI_ABI_VERSION)"),
    ("MPI_F08_status", "!defined(MPI_ABI_VERSION)"),
    ("bool", "(defined(__cplusplus) || defined(bool))"),
    ("MPIX_Grequest_class", "defined(MPICH_NUMVERSION)"),
    ("MPIX_Grequest_poll_function", "defined(MPICH_NUMVERSION)"),
    ("MPIX_Grequest_wait_function", "defined(MPICH_NUMVERSION)"),
    // Of mpi-ext.h, where the tool includes it before qmpi.h.
    ("ompi_affinity_fmt_t", "defined(OMPI_HAVE_MPI_EXT_AFFINITY)"),
];

/// Since when something is there: `QMPIX_HAS_(4, 0, 5)`.
#[derive(Clone, Copy)]
struct Since {
    version: StandardVersion,
    /// Major version of Open MPI; 0 for all, one more than the newest known for none of those.
    openmpi: u8,
}

impl fmt::Display for Since {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QMPIX_HAS_({}, {}, {})", self.version.0, self.version.1, self.openmpi)
    }
}

/// What the headers say together.
pub(crate) struct Availability {
    functions: BTreeMap<String, Since>,
    types: BTreeMap<String, Since>,
    /// The newest major version of Open MPI among the headers.
    pub(crate) newest_openmpi: u8,
}

impl Availability {
    /// Dates standard functions by the table and by Open MPI's headers, and a type by the first functions that use it.
    pub(crate) fn new(headers: &[(Label, Header)], table: &FunctionList) -> Self {
        let openmpi = |label: &Label| Some(label.name.strip_prefix("openmpi-").and_then(release)?.0);
        let majors: Vec<_> = headers.iter().filter_map(|(label, _)| openmpi(label)).collect();
        let oldest = majors.iter().min().copied();
        let newest = majors.iter().max().copied().unwrap_or(0);
        let mut found = Self { functions: BTreeMap::new(), types: BTreeMap::new(), newest_openmpi: newest };
        for row in &table.rows {
            let DefinedBy::Standard(version) = row.since else { continue };
            // A macro will do: the name-shifted function is there for it, too.
            let declaring = headers.iter().filter(|(_, header)| header.has(&row.name));
            let first = declaring.filter_map(|(label, _)| openmpi(label)).min();
            let openmpi = match first {
                first if first == oldest => 0,
                Some(major) => major,
                None => newest + 1,
            };
            found.functions.insert(row.name.clone(), Since { version, openmpi });
        }
        for (_, header) in headers {
            for prototype in header.prototypes() {
                let Some(since) = found.functions.get(&prototype.name) else { continue };
                for name in types(prototype) {
                    let known = found.types.entry(name).or_insert(*since);
                    known.version = known.version.min(since.version);
                    known.openmpi = known.openmpi.min(since.openmpi);
                }
            }
        }
        found
    }

    /// The condition under which an `mpi.h` has the function, or for an extension, all types that its prototype needs;
    /// `None` if no header without QMPI of its own has them.
    pub(crate) fn condition(&self, prototype: &Prototype) -> Option<String> {
        let of_function = self.functions.get(&prototype.name).copied();
        let mut since = of_function.unwrap_or(Since { version: StandardVersion(1, 0), openmpi: 0 });
        let mut more = BTreeSet::new();
        for name in types(prototype) {
            let special = SPECIAL_TYPES.iter().find(|(known, _)| *known == name);
            more.extend(special.map(|(_, condition)| format!(" && {condition}")));
            match self.types.get(&name) {
                _ if of_function.is_some() => {}
                Some(known) => {
                    since.version = since.version.max(known.version);
                    since.openmpi = since.openmpi.max(known.openmpi);
                }
                None => drop(special?),
            }
        }
        Some(format!("{since}{}", more.into_iter().collect::<String>()))
    }
}

/// Whether the prototype has types of a vendor's: `qmpi.h` leaves such functions to the vendor's header, since nothing tells
/// which types that has.
pub(crate) fn has_vendor_types(prototype: &Prototype) -> bool {
    types(prototype).iter().any(|name| name.starts_with("MPIX_") || name.starts_with("ompi_"))
}

/// Names of MPI's types in a prototype.
fn types(prototype: &Prototype) -> Vec<String> {
    let texts = prototype.params.iter().map(|param| &param.ctype).chain([&prototype.result]);
    texts.flat_map(|text| TYPE.find_iter(text).map(|found| found.as_str().to_owned())).collect()
}

/// When an MPICH that has QMPI lacks a number for the function: a condition on MPICH_NUMVERSION. `None` for never.
///
/// Between two known releases of different series the change is taken to have come with the later series.
pub(crate) fn missing(function: &str, numberings: &[HeaderNumbering]) -> Option<String> {
    let first = |numbering: &HeaderNumbering| numbering.releases.first().copied().unwrap_or_default();
    let start = |place: usize| {
        let (major, minor, patch): Release = first(&numberings[place]);
        let before = place.checked_sub(1).map(|place| first(&numberings[place]));
        let same_series = before.is_some_and(|before| (before.0, before.1) == (major, minor));
        u32::from(major) * 10_000_000
            + u32::from(minor) * 100_000
            + if same_series { u32::from(patch) * 1000 } else { 0 }
    };
    let mut spans = Vec::new();
    let mut end = 0;
    for run in numberings.chunk_by(|left, right| left.has(function) == right.has(function)) {
        let place = end;
        end += run.len();
        if run[0].has(function) {
            continue;
        }
        let from = (place > 0).then(|| format!("MPICH_NUMVERSION >= {}", start(place)));
        let to = (end < numberings.len()).then(|| format!("MPICH_NUMVERSION < {}", start(end)));
        spans.push(match (from, to) {
            (None, None) => "1".to_owned(),
            (Some(bound), None) | (None, Some(bound)) => bound,
            (Some(from), Some(to)) => format!("({from} && {to})"),
        });
    }
    (!spans.is_empty()).then(|| spans.join(" || "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_the_numberings() {
        let numbering = |release, names: &[&str]| HeaderNumbering {
            releases: vec![release],
            values: (0..).zip(names.iter().map(|name| (*name).to_owned())).collect(),
        };
        let all = [
            numbering((4, 0, 2), &["MPI_A_T", "MPI_C_T", "MPI_D_T"]),
            numbering((4, 0, 3), &["MPI_A_T", "MPI_B_T", "MPI_D_T"]),
            numbering((5, 0, 1), &["MPI_A_T", "MPI_B_T", "MPI_C_T"]),
        ];
        assert_eq!(missing("MPI_A", &all), None);
        assert_eq!(missing("MPI_B", &all).as_deref(), Some("MPICH_NUMVERSION < 40003000"));
        assert_eq!(
            missing("MPI_C", &all).as_deref(),
            Some("(MPICH_NUMVERSION >= 40003000 && MPICH_NUMVERSION < 50000000)")
        );
        assert_eq!(missing("MPI_D", &all).as_deref(), Some("MPICH_NUMVERSION >= 50000000"));
        assert_eq!(missing("MPI_E", &all).as_deref(), Some("1"));
    }
}
