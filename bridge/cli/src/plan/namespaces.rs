//! How many of glibc's namespaces there are for tools.

/// glibc's DL_NNS less the application's own.
const NAMESPACES: usize = 15;

/// How many PMPI tools fit; each library of `LD_AUDIT` has a namespace too.
#[must_use]
pub fn left(audit: Option<&str>) -> usize {
    NAMESPACES.saturating_sub(auditors(audit))
}

/// How many libraries `LD_AUDIT` names.
#[must_use]
pub fn auditors(audit: Option<&str>) -> usize {
    audit.unwrap_or_default().split(':').filter(|library| !library.is_empty()).count()
}
