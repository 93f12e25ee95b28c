//! Which hazards a tool has: one table of rules, which look at facts that inspection has gathered.

use std::collections::BTreeSet;

use qmpi_abi::FnId;

use crate::file::ElfFile;
use crate::linker::family::{is_language_runtime, requires_glibc_private};
use crate::tool::hazard::{ENVIRON, Effect, Facts, Hazard};
use crate::tool::{NextFunction, Tool, wrapped};

/// What a tool that uses GOTCHA does. The library walks `_r_debug.r_map`, which is the list of the base namespace.
const GOTCHA: &str = "it wraps functions with GOTCHA, which rewrites the tables (GOT) of the program and of its libraries, from whatever namespace it runs in: its wrappers see the program's calls outside of the order of the stack, and the next function that GOTCHA gives them is the process's";

/// Applies every rule, in the order of the table: what breaks first, what is handled last.
pub(crate) fn all(tool: &Tool, facts: &Facts) -> Vec<Hazard> {
    use Effect::{Fatal, Handled, Limited};
    let closure = &tool.closure;
    let told = |applies: bool, text: &str| applies.then(|| text.to_owned());
    let objects_that = |are_some: fn(&ElfFile) -> bool| {
        closure.objects.iter().filter(move |object| are_some(object)).map(|object| object.name().to_owned())
    };
    let missing = closure.missing.iter().map(|missing| match &missing.error {
        Some(error) => format!("{} (needed by {}): {error}", missing.name, missing.needed_by),
        None => format!("{} (needed by {})", missing.name, missing.needed_by),
    });
    let two_mpis = tool.abi_evidence.as_ref().and_then(|abi| {
        let (other, name) = abi.contradiction.as_ref()?;
        Some(format!("it is bound to {} ({}) and to {other} ({name}): no process has both", abi.family, abi.evidence))
    });
    let of_allocator =
        tool.wrapped.iter().map(|wrapped| wrapped.name.as_str()).filter(|name| wrapped::is_of_allocator(name));
    let of_allocator: Vec<&str> = of_allocator.collect();
    let without_free = wrapped::lacks_free(&tool.wrapped).then(|| {
        format!(
            "it wraps {} and not free: calls of the program do not reach them, unless its section has wraps = [\"{}\"]",
            of_allocator.join(", "),
            of_allocator.join("\", \"")
        )
    });
    let is_wrapped = |library: &&ElfFile| {
        !is_language_runtime(library.name()) && tool.wrapped.iter().any(|wrapped| library.finds(&wrapped.name))
    };
    let wrapped_libraries = closure.private().iter().filter(is_wrapped).map(|library| library.name().to_owned());
    let reads_environ =
        facts.imports.iter().filter(|(_, name)| ENVIRON.contains(name)).map(|(object, _)| object.as_str());
    let reads_environ: Vec<&str> = reads_environ.collect::<BTreeSet<_>>().into_iter().collect();
    let reads_environ = (!reads_environ.is_empty()).then(|| {
        let readers = reads_environ.join(", ");
        format!("{readers} may read the environment through `environ`: with `env` in its section it has one of its own")
    });
    let has_finalize = |list: &[FnId]| list.iter().any(|id| id.name() == "MPI_Finalize");
    let looks_up = matches!(tool.next_function, NextFunction::Dlsym | NextFunction::Both);
    let keeps_finalize =
        has_finalize(&tool.intercepts) && !has_finalize(&tool.pmpi_imports) && tool.dlsym_names.is_empty() && !looks_up;
    let has_no_next = tool.next_function == NextFunction::NoneSeen && !tool.intercepts.is_empty();
    let changes_environment = ["unsetenv", "setenv", "putenv", "clearenv"].iter().find_map(|name| imports(facts, name));
    let changes_preload = changes_environment.filter(|_| facts.names_ld_preload);

    let rules = [
        (
            "missing-library",
            Fatal,
            listed(missing, "{was|were} not found and the tool cannot be loaded without {it|them}"),
        ),
        (
            "unnamed-library",
            Handled,
            listed(
                closure.unnamed.iter().cloned(),
                "{has|have} versions that it needs and {is|are} not in its DT_NEEDED: {it is|they are} loaded together with the tool",
            ),
        ),
        (
            "undefined-symbols",
            Limited,
            listed(
                tool.undefined_elsewhere.iter().cloned(),
                "{is|are} defined by no library that the tool names: {it has|they have} to come from the application",
            ),
        ),
        ("mixed-mpi", Fatal, two_mpis),
        (
            "second-mpi",
            Limited,
            listed(
                facts.second_mpi.iter().cloned(),
                "{defines|define} PMPI functions of {its|their} own and would be a second MPI in the process",
            ),
        ),
        (
            "defines-pmpi",
            Limited,
            listed(
                tool.own_profiling.iter().cloned(),
                "{is|are} its own: calls of the program and of the MPI library reach {it|them}, those of MPI's Fortran libraries do not",
            ),
        ),
        ("allocator-without-free", Limited, without_free),
        (
            "own-allocator",
            Limited,
            told(
                tool.has_own_allocator(),
                "it defines an allocator (malloc, free and others), which is not used in a stack: there is one heap, the process's",
            ),
        ),
        (
            "wrapped-library",
            Handled,
            listed(
                wrapped_libraries,
                "{has|have} functions that it wraps: it gets the program's {copy of the library, no one|copies of the libraries, none} of its own",
            ),
        ),
        (
            "other-processes",
            Handled,
            told(
                !tool.wrapped.is_empty(),
                "it wraps functions that are not MPI's: in processes without MPI, and before a program opens MPI, it sees them with --all-processes",
            ),
        ),
        ("gotcha", Limited, told(uses_gotcha(tool, facts), GOTCHA)),
        ("environ", Handled, reads_environ),
        (
            "ld-audit",
            Limited,
            told(
                facts.marks.contains(&"la_version"),
                "it is an audit library as well (defines la_version); that part works only through LD_AUDIT",
            ),
        ),
        (
            "keeps-finalize",
            Limited,
            told(
                keeps_finalize,
                "it intercepts MPI_Finalize and never calls PMPI_Finalize: layers below it will not see the end; put it innermost",
            ),
        ),
        (
            "no-way-down",
            Limited,
            told(has_no_next, "no call of the next layer was found: what it intercepts may end there"),
        ),
        (
            "exec-stack",
            Limited,
            listed(
                objects_that(|object| object.exec_stack),
                "{asks|ask} for executable stacks, which glibc 2.41 and later refuses to a running process; link {it|them} with -z noexecstack",
            ),
        ),
        (
            "static-tls",
            Handled,
            tool.static_tls.then(|| {
                format!(
                    "it uses initial-exec thread-local storage: {} bytes of the room that is fixed when the program starts (glibc.rtld.optional_static_tls) for every instance",
                    tool.static_tls_bytes
                )
            }),
        ),
        (
            "dlopen",
            Handled,
            imports(facts, "dlopen").map(|objects| format!("{objects} opens libraries at run time, which inspection cannot see; the MPI library by any name is the next layer, a library that the program has open is the program's where that is safe, and others are the tool's own; with RTLD_GLOBAL the program finds them, too")),
        ),
        (
            "dlmopen",
            Limited,
            imports(facts, "dlmopen")
                .map(|objects| format!("{objects} opens namespaces of its own, of which glibc has 16 in all")),
        ),
        (
            "dl-iterate-phdr",
            Handled,
            imports(facts, "dl_iterate_phdr").map(|objects| {
                format!("{objects} asks for the list of loaded objects; it is given the application's and the tool's")
            }),
        ),
        (
            "dlsym-next",
            Handled,
            told(looks_up, "it looks MPI functions up by name (dlsym); it is given those of the next layer"),
        ),
        (
            "unsets-ld-preload",
            Handled,
            changes_preload
                .map(|objects| format!("{objects} may change LD_PRELOAD: child processes then run without the stack")),
        ),
        (
            "glibc-private",
            Handled,
            listed(
                objects_that(requires_glibc_private),
                "{uses|use} glibc's internals and {has|have} to be shared with the process",
            ),
        ),
        (
            "unique-symbols",
            Handled,
            (facts.unique > 0).then(|| {
                format!("{} of its C++ variables exist once per namespace (STB_GNU_UNIQUE): more instances than namespaces would share them", facts.unique)
            }),
        ),
    ];
    rules.into_iter().filter_map(|(id, effect, text)| Some(Hazard { id, effect, text: text? })).collect()
}

impl Tool {
    /// Hazards besides [`Tool::hazards`], which show in the constants only. Reading those takes milliseconds, and a run gains nothing by it:
    /// for the desk.
    pub fn hazards_of_contents(&self) -> Vec<Hazard> {
        let is_seen = self.hazards.iter().any(|hazard| hazard.id == "gotcha");
        // GOTCHA reads a variable of its own, also where it has been linked into an object with its functions hidden.
        let reads_variable = |object: &ElfFile| {
            object.strings_in_rodata(&|text| text == "GOTCHA_DEBUG").is_ok_and(|found| !found.is_empty())
        };
        let is_inside = !is_seen && self.closure.objects.iter().any(reads_variable);
        let gotcha = is_inside.then(|| Hazard { id: "gotcha", effect: Effect::Limited, text: GOTCHA.into() });
        gotcha.into_iter().collect()
    }
}

/// Is GOTCHA among the libraries of a tool, or in one of them?
pub(crate) fn uses_gotcha(tool: &Tool, facts: &Facts) -> bool {
    let needs = tool.closure.objects.iter().flat_map(|object| object.needed());
    needs.chain(&tool.closure.stopped).any(|name| name.starts_with("libgotcha"))
        || facts.marks.contains(&"gotcha_wrap")
        || imports(facts, "gotcha_wrap").is_some()
}

/// The objects that import a function, for the start of a sentence.
fn imports(facts: &Facts, name: &str) -> Option<String> {
    let objects: Vec<&str> =
        facts.imports.iter().filter(|(_, import)| *import == name).map(|(object, _)| object.as_str()).collect();
    (!objects.is_empty()).then(|| objects.join(", "))
}

/// `a, b, c and 4 more <text>`, where the text has `{is|are}` for one name and for several; `None` for no name.
fn listed(names: impl Iterator<Item = String>, text: &str) -> Option<String> {
    const SHOWN: usize = 8;
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    let mut line = names.get(..names.len().min(SHOWN)).filter(|shown| !shown.is_empty())?.join(", ");
    if more > 0 {
        line += &format!(" and {more} more");
    }
    line.push(' ');
    for part in text.split('}') {
        let (always, one_of) = part.split_once('{').unwrap_or((part, "|"));
        let (one, several) = one_of.split_once('|').unwrap_or_default();
        line.extend([always, if names.len() == 1 { one } else { several }]);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists() {
        let listed =
            |count: usize| super::listed((0..count).map(|index| index.to_string()), "{is|are} here, {it|they}");
        assert_eq!(listed(0), None);
        assert_eq!(listed(1).as_deref(), Some("0 is here, it"));
        assert_eq!(listed(2).as_deref(), Some("0, 1 are here, they"));
        assert_eq!(listed(10).as_deref(), Some("0, 1, 2, 3, 4, 5, 6, 7 and 2 more are here, they"));
    }
}
