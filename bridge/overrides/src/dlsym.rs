//! `dlsym` and `dlvsym` of a tool.
//!
//! Several tools have no other way to the next function than `dlsym(RTLD_NEXT, "MPI_Send")`. In a namespace nothing comes next, so a name
//! of MPI gets its next link. For other names glibc answers; where it would find nothing, the process is asked, as it
//! would be under `LD_PRELOAD`. A function that is not MPI's and that a layer below wraps is that layer's for RTLD_NEXT.
//!
//! A failing look-up of glibc's allocates its message. So where a look-up may fail and glibc still has an answer, the tables of the
//! objects are read instead. Only a name that nothing has is looked up in vain twice.
#![expect(unsafe_code, reason = "reads C strings that the tool passes, and calls the resolver of an IFUNC")]

use core::ffi::{CStr, c_char, c_void};

use qmpi_dynamic::{Mapped, Symbol, SymbolKind, objects};

use crate::answers::Answers;
use crate::link_map::{DEEPEST, Handle, LinkMap, find};
use crate::namespace::Namespace;
use crate::{glibc, plugins};

/// The address to return to the tool, or null if glibc shall answer. `caller` is the return address of the call.
pub(crate) extern "C" fn decide(
    handle: *mut c_void,
    name: *const c_char,
    answers: &'static Answers,
    caller: usize,
) -> *const c_void {
    if name.is_null() {
        return core::ptr::null();
    }
    // SAFETY: the tool passes a C string, as `dlsym` wants.
    let name = unsafe { CStr::from_ptr(name) };
    let found = if answers.is_base {
        in_base(answers, handle, name)
    } else {
        let namespace = answers.namespace(caller);
        let is_next = handle == libc::RTLD_NEXT;
        if is_next && namespace.is_some_and(|namespace| is_in_next_file(answers, namespace, caller, name)) {
            None // glibc finds what is in the tool's own files.
        } else if is_next && let Some(next) = answers.next_by_name(name) {
            Some(next)
        } else {
            namespace.and_then(|namespace| address(answers, namespace, handle, name, caller))
        }
    };
    core::ptr::without_provenance(found.unwrap_or(0))
}

fn address(answers: &Answers, namespace: &Namespace, handle: *mut c_void, name: &CStr, caller: usize) -> Option<usize> {
    let next = handle == libc::RTLD_NEXT;
    let default = handle == libc::RTLD_DEFAULT;
    let head = namespace.head().is_some_and(|head| Handle::of(head).0 == handle);
    if qmpi_abi::classify_c(name).is_some() || name.to_str().is_ok_and(qmpi_abi::is_mpi_like) {
        let of_mpi = || namespace.is_mpi_provider(Handle(handle));
        let of_plugin = || !default && plugins::reaches_mpi(namespace, handle, name);
        // RTLD_DEFAULT finds the tool's own function first, and then the head's.
        return if next || head || of_mpi() || of_plugin() { below(answers, name) } else { None };
    }
    let glibc_finds = || if next { is_behind(namespace, caller, name) } else { is_in_scope(answers, namespace, name) };
    if !(next || default || head) || glibc_finds() {
        return None;
    }
    opened_global(answers, namespace, name).or_else(|| of_process(namespace, name))
}

/// Does a file of the tool that stands behind the one with the code at `caller` define the name? In a tool of several files the next definition
/// may be in the next file, as in a list in LD_PRELOAD; only what none of them has comes from the layer below. They are the first that the first
/// object needs: `answers.before` files, then the tool's own.
fn is_in_next_file(answers: &Answers, namespace: &Namespace, caller: usize, name: &CStr) -> bool {
    let files = || namespace.first_maps().skip(1).take(answers.before.saturating_add(1));
    answers.before != 0 && LinkMap::defined_behind(files(), caller, name) == Some(true)
}

/// For a tool of the base namespace: its next function is that of the chain, however it asks.
fn in_base(answers: &Answers, handle: *mut c_void, name: &CStr) -> Option<usize> {
    let text = name.to_str().ok()?;
    let link = answers.link_by_name(text)?;
    let is_mpi_code = |address| answers.mpi.iter().any(|image| image.segments().contains(address));
    let goes_down = if handle == libc::RTLD_DEFAULT {
        // The plain name is that of the first tool in the process.
        text.starts_with('P')
    } else {
        handle == libc::RTLD_NEXT || Handle(handle).find(name).is_some_and(is_mpi_code)
    };
    goes_down.then_some(link)
}

/// The next link for a C function; another function of MPI as it is.
fn below(answers: &Answers, name: &CStr) -> Option<usize> {
    let of_mpi = || answers.mpi.iter().find_map(|image| function(&find(image, name)?));
    answers.link_by_name(name.to_str().ok()?).or_else(of_mpi)
}

/// Does a look-up that begins at the tool, or at the first object, find the name? The first object brought everything but a clone.
fn is_in_scope(answers: &Answers, namespace: &Namespace, name: &CStr) -> bool {
    match answers.scope.get() {
        // In a constructor.
        [] => namespace.first_maps().any(|map| map.defines(name)),
        scope => scope.iter().any(|object| object.defines(name)),
    }
}

/// Does an object behind the one with the code at `caller` define the name? A definition of that object's own is no next one.
fn is_behind(namespace: &Namespace, caller: usize, name: &CStr) -> bool {
    if let Some(answer) = LinkMap::defined_behind(namespace.first_maps(), caller, name) {
        return answer;
    }
    // A library that the tool opened: glibc looks in what came with it. Another thread may close one.
    objects::find(|_| LinkMap::defined_behind(namespace.opened_maps(), caller, name)) == Some(true)
}

/// Looks in the libraries that the tool opened with RTLD_GLOBAL, and in those that they brought with them.
pub fn opened_global(answers: &Answers, namespace: &Namespace, name: &CStr) -> Option<usize> {
    answers.opened_global.iter().next()?;
    let found = |map: &'static LinkMap| {
        let found = function_or_variable(&find(&map.mapped()?, name)?)?;
        is_global(answers, namespace, map, 0).then_some(found)
    };
    // Another thread may close a library: inside of the callback `ld.so` holds the lock of its list.
    objects::find(|_| Some(namespace.opened_maps().find_map(found))).flatten()
}

/// The libraries that the tool opened with RTLD_GLOBAL, and those that they brought with them, but for providers. `ld.so`'s lock must be held.
pub fn all_global<'a>(
    answers: &'a Answers,
    namespace: &'a Namespace,
) -> impl Iterator<Item = &'static LinkMap> + use<'a> {
    // Hardly any tool has opened one, and to look at what its libraries need takes long where many share a namespace.
    let maps = answers.opened_global.iter().next().into_iter().flat_map(|_| namespace.opened_maps());
    maps.filter(|map| !namespace.is_provider(map) && is_global(answers, namespace, map, 0))
}

/// Is `map` a library that the tool opened with RTLD_GLOBAL, or one that such a library needs?
fn is_global(answers: &Answers, namespace: &Namespace, map: &'static LinkMap, depth: usize) -> bool {
    answers.opened_global.iter().any(|opened| map.is_named(opened))
        || depth < DEEPEST
            && namespace.opened_maps().any(|other| {
                let needs = |mapped: Mapped<'_>| mapped.tables().needed().any(|needed| map.is_named(needed));
                !core::ptr::eq(other, map)
                    && other.mapped().is_some_and(needs)
                    && is_global(answers, namespace, other, depth.saturating_add(1))
            })
}

/// What the process's own scope has under this name.
fn of_process(namespace: &Namespace, name: &CStr) -> Option<usize> {
    let defines = |mapped: &Mapped<'_>| find(mapped, name).is_some();
    let unlisted = || namespace.each_object().filter(|(_, listed)| listed.is_none());
    // A library that the tool opened, or the tool itself in its constructor, may ask for a name of its own: then glibc finds that, and
    // the process is asked only for what it has. Reading the tables of all its objects takes some hundred microseconds.
    let is_found_by_glibc = || unlisted().any(|(map, _)| map.mapped().as_ref().is_some_and(defines));
    if objects::find(|_| Some(is_found_by_glibc())) == Some(true) {
        objects::find(|info| defines(&Mapped::for_names(info.segments())?).then_some(()))?;
    }
    glibc::global(name)
}

/// The address of a function, the chosen one of an IFUNC.
fn function(found: &(Symbol<'_>, usize)) -> Option<usize> {
    let (symbol, address) = *found;
    match symbol.kind() {
        SymbolKind::Function | SymbolKind::Untyped | SymbolKind::Other => Some(address),
        SymbolKind::Ifunc => {
            // SAFETY: the resolver of a loaded and relocated object, which `ld.so` calls in this way as well
            // (`elf/dl-sym.c: do_sym`).
            let resolve = unsafe { core::mem::transmute::<usize, extern "C" fn() -> usize>(address) };
            Some(resolve())
        }
        SymbolKind::Data | SymbolKind::Tls => None,
    }
}

fn function_or_variable(found: &(Symbol<'_>, usize)) -> Option<usize> {
    if found.0.kind() == SymbolKind::Data { Some(found.1) } else { function(found) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::object_at;

    #[test]
    fn functions_of_the_process() {
        let namespace = Namespace::expected(c"");
        assert_eq!(of_process(&namespace, c"getenv"), glibc::global(c"getenv"));
        assert_eq!(of_process(&namespace, c"a name that nothing has"), None);
    }

    #[test]
    fn an_ifunc_is_resolved() {
        let own = object_at(an_ifunc_is_resolved as fn() as usize).unwrap().map().unwrap();
        let library = own.and_following().find(|map| map.name().to_bytes().ends_with(b"/libc.so.6")).unwrap();
        let mapped = library.mapped().unwrap();
        let found = find(&mapped, c"memcpy").unwrap();
        assert_eq!(found.0.kind(), SymbolKind::Ifunc);
        assert_eq!(function(&found), glibc::global(c"memcpy"));
        assert_eq!(function(&find(&mapped, c"environ").unwrap()), None, "a variable");
    }

    #[test]
    fn the_next_function_by_each_of_its_names() {
        let mut links = vec![0; qmpi_abi::COUNT];
        let id = qmpi_abi::FnId::by_name("MPI_Send").unwrap();
        links[id.index()] = 42;
        let answers = Answers::new(links.leak(), &[]);
        assert_eq!(below(&answers, c"MPI_Send"), Some(42));
        assert_eq!(below(&answers, c"PMPI_Send"), Some(42));
        assert_eq!(below(&answers, c"PMPI_Recv"), None);
        assert_eq!(in_base(&answers, libc::RTLD_NEXT, c"MPI_Send"), Some(42));
        assert_eq!(in_base(&answers, libc::RTLD_DEFAULT, c"MPI_Send"), None, "that of the first tool");
        assert_eq!(in_base(&answers, libc::RTLD_DEFAULT, c"PMPI_Send"), Some(42));
    }

    #[test]
    fn a_look_up_by_name_finds_the_default_version() {
        let mut links = vec![0; qmpi_abi::COUNT];
        let id = qmpi_abi::FnId::by_name("MPI_Send").unwrap();
        links[id.index()] = 42;
        let mut answers = Answers::new(links.leak(), &[]);
        answers.links_by_name = Box::leak(Box::new([(id, 43)]));
        assert_eq!(below(&answers, c"MPI_Send"), Some(43));
        assert_eq!(below(&answers, c"PMPI_Send"), Some(42), "versions are of one name");
        assert_eq!(in_base(&answers, libc::RTLD_NEXT, c"MPI_Send"), Some(43));
    }
}
