//! Versions of wrappers: which one a reference to `MPI_f@VERSION` gets, and which `dlsym` and `dlvsym` find.
//!
//! `ld.so` searches the objects of a scope for the first definition that fits, and tools under LD_PRELOAD are the first objects. Layers
//! stand before the MPI library in the same order, and the same rules choose among their wrappers (glibc, elf/dl-lookup.c:
//! check_match):
//!
//! | what asks | fits |
//! |---|---|
//! | a reference without a version | the oldest definition: the layer's link, nothing of this file |
//! | a reference to a version | a definition of this version, or one without a version |
//! | `dlsym` | a definition without a version, or the default one |
//! | `dlvsym` | a definition of this version |
//!
//! A layer without a definition that fits does not get the call, as it would not under LD_PRELOAD. The slot of an entry stub holds one
//! address, that of the oldest definition; so references that get another one are rebound.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};
use std::sync::OnceLock;

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_loader::image::Image;
use qmpi_loader::image::rebind::{self, Reference};
use qmpi_loader::image::symbol::DefinedVersion;

use crate::name;
use crate::ring::{is_entry, ring};

/// The functions of which an object defines versions; a definition is a `T`.
#[derive(Debug)]
pub(crate) struct WrapperVersions<T>(HashMap<FnId, VersionedFunctions<T>>);

#[derive(Debug)]
struct VersionedFunctions<T> {
    /// What references to these versions get.
    referred: HashMap<&'static CStr, T>,
    /// What references to any other version get.
    others: Option<T>,
    /// What `dlsym` finds.
    newest: Option<T>,
    /// What `dlvsym` finds.
    exact: HashMap<&'static CStr, T>,
}

impl<T: Copy> WrapperVersions<T> {
    /// No function has versions.
    pub(crate) fn new() -> WrapperVersions<T> {
        WrapperVersions(HashMap::new())
    }

    /// An object comes first from now on that defines the function: `plain` is for references without a version, `versions` are its
    /// definitions if they have versions. `behind`: what comes next.
    pub(crate) fn put_in_front(&mut self, id: FnId, plain: T, versions: &[(DefinedVersion, T)], behind: Option<T>) {
        if versions.is_empty() {
            if let Some(known) = self.0.get_mut(&id) {
                known.referred.clear();
                (known.others, known.newest) = (Some(plain), Some(plain));
            }
            return;
        }
        let known = self.0.entry(id).or_insert_with(|| VersionedFunctions {
            referred: HashMap::new(),
            others: behind,
            newest: behind,
            exact: HashMap::new(),
        });
        let (mut unversioned, mut default) = (None, None);
        for (version, definition) in versions {
            match version {
                DefinedVersion::Unversioned { is_hidden } => {
                    unversioned = unversioned.or(Some(*definition));
                    if !is_hidden {
                        known.referred.clear();
                        known.others = Some(*definition);
                    }
                }
                DefinedVersion::Named { is_default: true, .. } => default = default.or(Some(*definition)),
                DefinedVersion::Named { .. } => {}
            }
        }
        known.newest = unversioned.or(default).or(known.newest);
        for (version, definition) in versions {
            if let DefinedVersion::Named { name, .. } = version {
                known.referred.insert(name, *definition);
                known.exact.insert(name, *definition);
            }
        }
    }

    /// The same with other definitions.
    pub(crate) fn map<U>(&self, mut other: impl FnMut(FnId, T) -> U) -> WrapperVersions<U> {
        let definitions = |(id, known): (&FnId, &VersionedFunctions<T>)| {
            let mut other = |definition| other(*id, definition);
            let referred = known.referred.iter().map(|(name, definition)| (*name, other(*definition))).collect();
            let exact = known.exact.iter().map(|(name, definition)| (*name, other(*definition))).collect();
            let (others, newest) = (known.others.map(&mut other), known.newest.map(&mut other));
            (*id, VersionedFunctions { referred, others, newest, exact })
        };
        WrapperVersions(self.0.iter().map(definitions).collect())
    }

    /// The functions, and what `dlsym` finds of each.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (FnId, T)> {
        self.0.iter().filter_map(|(id, known)| Some((*id, known.newest?)))
    }

    /// What a reference to this version gets.
    fn referred(&self, id: FnId, version: &CStr) -> Option<T> {
        let known = self.0.get(&id)?;
        known.referred.get(version).copied().or(known.others)
    }

    /// What `dlvsym` finds, or `dlsym` where no version is named.
    fn found(&self, id: FnId, version: Option<&CStr>) -> Option<T> {
        let known = self.0.get(&id)?;
        version.map_or(known.newest, |version| known.exact.get(version).copied())
    }
}

/// Where calls of each version go in this process.
static OF_PROCESS: OnceLock<WrapperVersions<usize>> = OnceLock::new();

/// Sets them; a second time has no effect. What looks names up finds them from now on.
pub(crate) fn set_of_process(versions: WrapperVersions<usize>) -> &'static WrapperVersions<usize> {
    OF_PROCESS.get_or_init(|| versions)
}

impl WrapperVersions<usize> {
    /// What a reference to this version of the function is to be bound to, which `ld.so` has bound, or will bind, to the function's
    /// entry stub. Where it goes the same way as through the stub, it stays if it is a function pointer: all are equal.
    pub(crate) fn target(&self, id: FnId, reference: &Reference<'_>, version: &CStr) -> Option<usize> {
        let slot = ring().get(id);
        let address = if self.0.contains_key(&id) { self.referred(id, version) } else { slot }?;
        (reference.is_call || slot != Some(address)).then_some(address)
    }
}

/// The first of the objects that has a definition for the reference: all that stand before the entry library are searched.
pub(crate) fn first<'a>(images: &'a [Image], reference: &Reference<'_>, version: &CStr) -> Option<&'a Image> {
    images.iter().find(|image| is_entry(image) || image.find_versioned(reference.name, version).is_some())
}

/// Binds references to versions of objects that were opened after start-up.
pub(crate) fn bind_opened(lock: &LinkerLock, images: &[Image], new: &[Image]) {
    let Some(versions) = OF_PROCESS.get().filter(|versions| !versions.0.is_empty()) else { return };
    for image in new {
        rebind::rebind(lock, image, |reference| {
            let id = name::plain_id(reference.name).filter(|id| versions.0.contains_key(id))?;
            let version = image.needed_version(reference)?;
            first(images, reference, version).filter(|image| is_entry(image))?;
            versions.target(id, reference, version)
        });
    }
}

/// The wrapper that `dlvsym` finds, and where `version` is null `dlsym`; 0 where no object of the stack has versions of the function,
/// or not this one. Takes no lock.
#[expect(unsafe_code, reason = "reads a C string")]
pub(crate) extern "C" fn find(number: usize, version: *const c_char) -> usize {
    // SAFETY: `dlvsym` wants a C string.
    let version = (!version.is_null()).then(|| unsafe { CStr::from_ptr(version) });
    let find = || OF_PROCESS.get()?.found(FnId::from_index(number)?, version);
    find().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const fn named(name: &'static CStr, is_default: bool) -> DefinedVersion {
        DefinedVersion::Named { name, is_default }
    }

    fn send() -> FnId {
        FnId::by_name("MPI_Send").unwrap()
    }

    /// In front of an MPI library, which is 0: 1 and 2 are `V1` and the default `V2` of one object.
    fn two() -> WrapperVersions<u32> {
        let mut versions = WrapperVersions::new();
        versions.put_in_front(send(), 1, &[(named(c"V1", false), 1), (named(c"V2", true), 2)], Some(0));
        versions
    }

    #[test]
    fn each_gets_the_version_that_it_asks_for() {
        let versions = two();
        assert_eq!([c"V1", c"V2", c"V3"].map(|name| versions.referred(send(), name)), [Some(1), Some(2), Some(0)]);
        assert_eq!([c"V1", c"V2", c"V3"].map(|name| versions.found(send(), Some(name))), [Some(1), Some(2), None]);
        assert_eq!(versions.found(send(), None), Some(2));
        assert_eq!(versions.referred(FnId::by_name("MPI_Recv").unwrap(), c"V1"), None);
    }

    #[test]
    fn a_definition_without_a_version_fits_all_references_but_not_dlvsym() {
        let mut versions = two();
        versions.put_in_front(send(), 3, &[], Some(1));
        assert_eq!([c"V1", c"V2", c"V3"].map(|name| versions.referred(send(), name)), [Some(3); 3]);
        assert_eq!([c"V1", c"V2", c"V3"].map(|name| versions.found(send(), Some(name))), [Some(1), Some(2), None]);
        assert_eq!(versions.found(send(), None), Some(3));
        versions.put_in_front(send(), 4, &[(named(c"V3", false), 4)], Some(3));
        assert_eq!([c"V1", c"V3"].map(|name| versions.referred(send(), name)), [Some(3), Some(4)]);
        assert_eq!(versions.found(send(), None), Some(3), "a version that is not the default one is not found");
    }

    #[test]
    fn an_object_with_both_kinds_of_definitions() {
        let mut versions = two();
        let unversioned = |is_hidden| (DefinedVersion::Unversioned { is_hidden }, 5);
        versions.put_in_front(send(), 5, &[(named(c"V2", true), 6), unversioned(true)], Some(1));
        assert_eq!([c"V1", c"V2"].map(|name| versions.referred(send(), name)), [Some(1), Some(6)]);
        assert_eq!(versions.found(send(), None), Some(5));
        versions.put_in_front(send(), 5, &[(named(c"V2", true), 7), unversioned(false)], Some(1));
        assert_eq!([c"V1", c"V2"].map(|name| versions.referred(send(), name)), [Some(5), Some(7)]);
    }
}
