//! Where a function comes from: a version of the standard, or a vendor.

use std::fmt;
use std::str::FromStr;

/// A version of the MPI standard: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u8, pub u8);

impl Version {
    /// The list of functions is complete up to here; what came later is dated by the headers.
    pub const LISTED: Self = Self(3, 1);
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        text.split_once('.')
            .and_then(|(major, minor)| Some(Self(major.parse().ok()?, minor.parse().ok()?)))
            .ok_or_else(|| format!("`{text}` is not a version of the standard like 3.1"))
    }
}

/// What defines a function, the standard or an MPI: column `since`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The standard, since this version.
    Standard(Version),
    /// MPICH.
    Mpich,
    /// Open MPI.
    OpenMpi,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standard(version) => version.fmt(f),
            Self::Mpich => f.write_str("mpich"),
            Self::OpenMpi => f.write_str("openmpi"),
        }
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "mpich" => Ok(Self::Mpich),
            "openmpi" => Ok(Self::OpenMpi),
            _ => text.parse().map(Self::Standard),
        }
    }
}
