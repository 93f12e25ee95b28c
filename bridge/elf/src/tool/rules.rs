//! Which hazards a tool has: one table of rules.
//!
//! Rules look at facts that inspection has gathered.

use crate::file::ElfFile;
use crate::linker::family::{is_language_runtime, requires_glibc_private};
use crate::tool::facts::Facts;
use crate::tool::hazard::{Effect, Hazard};
use crate::tool::{NextFunction, Tool, wrapped};

struct HazardRule {
    id: &'static str,
    effect: Effect,
    /// The sentence, if the rule applies.
    find: fn(&Tool) -> Option<String>,
}

const RULES: &[HazardRule] = &[
    HazardRule {
        id: "missing-library",
        effect: Effect::Fatal,
        find: |tool| {
            let names = tool.closure.missing.iter().map(|missing| match &missing.error {
                Some(error) => format!("{} (needed by {}): {error}", missing.name, missing.needed_by),
                None => format!("{} (needed by {})", missing.name, missing.needed_by),
            });
            listed(
                names,
                "was not found and the tool cannot be loaded without it",
                "were not found and the tool cannot be loaded without them",
            )
        },
    },
    HazardRule {
        id: "unnamed-library",
        effect: Effect::Handled,
        find: |tool| {
            listed(
                tool.closure.unnamed.iter().cloned(),
                "has versions that it needs and is not in its DT_NEEDED: it is loaded together with the tool",
                "have versions that it needs and are not in its DT_NEEDED: they are loaded together with the tool",
            )
        },
    },
    HazardRule {
        id: "undefined-symbols",
        effect: Effect::Limited,
        find: |tool| {
            let names = tool.undefined_elsewhere.iter().cloned();
            listed(
                names,
                "is defined by no library that the tool names: it has to come from the application",
                "are defined by no library that the tool names: they have to come from the application",
            )
        },
    },
    HazardRule {
        id: "mixed-mpi",
        effect: Effect::Fatal,
        find: |tool| {
            let (other, name) = tool.abi_evidence.as_ref()?.contradiction.as_ref()?;
            let abi = tool.abi_evidence.as_ref()?;
            Some(format!(
                "it is bound to {} ({}) and to {other} ({name}): no process has both",
                abi.family, abi.evidence
            ))
        },
    },
    HazardRule {
        id: "second-mpi",
        effect: Effect::Limited,
        find: |Tool { facts, .. }| {
            listed(
                facts.second_mpi.iter().cloned(),
                "defines PMPI functions of its own and would be a second MPI in the process",
                "define PMPI functions of their own and would be a second MPI in the process",
            )
        },
    },
    HazardRule {
        id: "defines-pmpi",
        effect: Effect::Limited,
        find: |Tool { facts, .. }| {
            listed(
                facts.own_profiling.iter().cloned(),
                "is its own: calls of the program and of the MPI library reach it, those of MPI's Fortran libraries do not",
                "are its own: calls of the program and of the MPI library reach them, those of MPI's Fortran libraries do not",
            )
        },
    },
    HazardRule {
        id: "allocator-without-free",
        effect: Effect::Limited,
        find: |tool| {
            let names = tool.wrapped.iter().filter(|wrapped| wrapped::is_of_allocator(&wrapped.name));
            let names: Vec<&str> = names.map(|wrapped| wrapped.name.as_str()).collect();
            wrapped::lacks_free(&tool.wrapped).then(|| {
                format!(
                    "it wraps {} and not free: calls of the program do not reach them, unless its section has wraps = [\"{}\"]",
                    names.join(", "),
                    names.join("\", \"")
                )
            })
        },
    },
    HazardRule {
        id: "own-allocator",
        effect: Effect::Limited,
        find: |tool| {
            wrapped::has_own_allocator(tool).then(|| "it defines an allocator (malloc, free and others), which is not used in a stack: there is one heap, the process's".into())
        },
    },
    HazardRule {
        id: "wrapped-library",
        effect: Effect::Handled,
        find: |tool| {
            let is_wrapped = |library: &&ElfFile| {
                !is_language_runtime(library.name()) && tool.wrapped.iter().any(|wrapped| library.finds(&wrapped.name))
            };
            listed(
                tool.closure.private().iter().filter(is_wrapped).map(|library| library.name().to_owned()),
                "has functions that it wraps: it gets the program's copy of the library, no one of its own",
                "have functions that it wraps: it gets the program's copies of the libraries, none of its own",
            )
        },
    },
    HazardRule {
        id: "other-processes",
        effect: Effect::Handled,
        find: |tool| {
            (!tool.wrapped.is_empty()).then(|| {
                "it wraps functions that are not MPI's: in processes without MPI, and before a program opens MPI, it sees them with --all-processes".into()
            })
        },
    },
    HazardRule { id: "gotcha", effect: Effect::Limited, find: |tool| uses_gotcha(tool).then(|| GOTCHA.into()) },
    HazardRule {
        id: "environ",
        effect: Effect::Handled,
        find: |Tool { facts, .. }| {
            let mut objects = facts.scans_environ.clone();
            objects.sort_unstable();
            objects.dedup();
            (!objects.is_empty()).then(|| {
                format!(
                    "{} may read the environment through `environ`: with `env` in its section it has one of its own",
                    objects.join(", ")
                )
            })
        },
    },
    HazardRule {
        id: "ld-audit",
        effect: Effect::Limited,
        find: |Tool { facts, .. }| {
            facts.marks.contains(&"la_version").then(|| {
                "it is an audit library as well (defines la_version); that part works only through LD_AUDIT".into()
            })
        },
    },
    HazardRule {
        id: "keeps-finalize",
        effect: Effect::Limited,
        find: |tool| {
            let has = |list: &[qmpi_abi::FnId]| list.iter().any(|id| id.name() == "MPI_Finalize");
            let keeps = has(&tool.intercepts) && !has(&tool.pmpi_imports) && tool.dlsym_names.is_empty();
            (keeps && !matches!(tool.next_function, NextFunction::Dlsym | NextFunction::Both)).then(|| {
                "it intercepts MPI_Finalize and never calls PMPI_Finalize: layers below it will not see the end; put it innermost".into()
            })
        },
    },
    HazardRule {
        id: "no-way-down",
        effect: Effect::Limited,
        find: |tool| {
            (tool.next_function == NextFunction::NoneSeen && !tool.intercepts.is_empty())
                .then(|| "no call of the next layer was found: what it intercepts may end there".into())
        },
    },
    HazardRule {
        id: "exec-stack",
        effect: Effect::Limited,
        find: |tool| {
            let names = tool.closure.objects.iter().filter(|object| object.exec_stack());
            let names = names.map(|object| object.name().to_owned());
            listed(
                names,
                "asks for executable stacks, which glibc 2.41 and later refuses to a running process; link it with -z noexecstack",
                "ask for executable stacks, which glibc 2.41 and later refuses to a running process; link them with -z noexecstack",
            )
        },
    },
    HazardRule {
        id: "static-tls",
        effect: Effect::Handled,
        find: |tool| {
            tool.static_tls.then(|| {
                format!(
                    "it uses initial-exec thread-local storage: {} bytes of the room that is fixed when the program starts (glibc.rtld.optional_static_tls) for every instance",
                    tool.static_tls_bytes
                )
            })
        },
    },
    HazardRule {
        id: "dlopen",
        effect: Effect::Handled,
        find: |Tool { facts, .. }| {
            imports(facts, "dlopen").map(|objects| format!("{objects} opens libraries at run time, which inspection cannot see; the MPI library by any name is the next layer, a library that the program has open is the program's where that is safe, and others are the tool's own; with RTLD_GLOBAL the program finds them, too"))
        },
    },
    HazardRule {
        id: "dlmopen",
        effect: Effect::Limited,
        find: |Tool { facts, .. }| {
            imports(facts, "dlmopen")
                .map(|objects| format!("{objects} opens namespaces of its own, of which glibc has 16 in all"))
        },
    },
    HazardRule {
        id: "dl-iterate-phdr",
        effect: Effect::Handled,
        find: |Tool { facts, .. }| {
            imports(facts, "dl_iterate_phdr").map(|objects| {
                format!("{objects} asks for the list of loaded objects; it is given the application's and the tool's")
            })
        },
    },
    HazardRule {
        id: "dlsym-next",
        effect: Effect::Handled,
        find: |tool| {
            matches!(tool.next_function, NextFunction::Dlsym | NextFunction::Both)
                .then(|| "it looks MPI functions up by name (dlsym); it is given those of the next layer".into())
        },
    },
    HazardRule {
        id: "unsets-ld-preload",
        effect: Effect::Handled,
        find: |Tool { facts, .. }| {
            let changes = ["unsetenv", "setenv", "putenv", "clearenv"].iter().find_map(|name| imports(facts, name));
            changes
                .filter(|_| facts.names_ld_preload)
                .map(|objects| format!("{objects} may change LD_PRELOAD: child processes then run without the stack"))
        },
    },
    HazardRule {
        id: "glibc-private",
        effect: Effect::Handled,
        find: |tool| {
            let names = tool.closure.objects.iter().filter(|object| requires_glibc_private(object));
            let names = names.map(|object| object.name().to_owned());
            listed(
                names,
                "uses glibc's internals and has to be shared with the process",
                "use glibc's internals and have to be shared with the process",
            )
        },
    },
    HazardRule {
        id: "unique-symbols",
        effect: Effect::Handled,
        find: |Tool { facts, .. }| {
            (facts.unique > 0).then(|| {
                format!("{} of its C++ variables exist once per namespace (STB_GNU_UNIQUE): more instances than namespaces would share them", facts.unique)
            })
        },
    },
];

/// What a tool that uses GOTCHA does. The library walks `_r_debug.r_map`, which is the list of the base namespace.
pub(crate) const GOTCHA: &str = "it wraps functions with GOTCHA, which rewrites the tables (GOT) of the program and of its libraries, from whatever namespace it runs in: its wrappers see the program's calls outside of the order of the stack, and the next function that GOTCHA gives them is the process's";

/// Is GOTCHA among the libraries of a tool, or in one of them?
pub(crate) fn uses_gotcha(tool: &Tool) -> bool {
    let needs = tool.closure.objects.iter().flat_map(|object| object.needed());
    needs.chain(&tool.closure.stopped).any(|name| name.starts_with("libgotcha"))
        || tool.facts.marks.contains(&"gotcha_wrap")
        || imports(&tool.facts, "gotcha_wrap").is_some()
}

/// Applies every rule, in the order of the table: what breaks first, what is handled last.
pub(crate) fn all(tool: &Tool) -> Vec<Hazard> {
    RULES
        .iter()
        .filter_map(|rule| Some(Hazard { id: rule.id, effect: rule.effect, text: (rule.find)(tool)? }))
        .collect()
}

/// The objects that import a function, for the start of a sentence.
fn imports(facts: &Facts, name: &str) -> Option<String> {
    let objects: Vec<&str> =
        facts.imports.iter().filter(|(_, import)| *import == name).map(|(object, _)| object.as_str()).collect();
    (!objects.is_empty()).then(|| objects.join(", "))
}

/// `a, b, c and 4 more <plural>`; `None` for an empty list.
fn listed(names: impl Iterator<Item = String>, singular: &str, plural: &str) -> Option<String> {
    const SHOWN: usize = 8;
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(SHOWN);
    let shown = names.get(..names.len().min(SHOWN))?.join(", ");
    match (names.len(), more) {
        (0, _) => None,
        (1, _) => Some(format!("{shown} {singular}")),
        (_, 0) => Some(format!("{shown} {plural}")),
        (_, more) => Some(format!("{shown} and {more} more {plural}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique() {
        let mut ids: Vec<_> = RULES.iter().map(|rule| rule.id).collect();
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn lists() {
        let names = |count: usize| (0..count).map(|index| index.to_string());
        assert_eq!(listed(names(0), "is", "are"), None);
        assert_eq!(listed(names(1), "is", "are").as_deref(), Some("0 is"));
        assert_eq!(listed(names(2), "is", "are").as_deref(), Some("0, 1 are"));
        assert_eq!(listed(names(10), "is", "are").as_deref(), Some("0, 1, 2, 3, 4, 5, 6, 7 and 2 more are"));
    }
}
