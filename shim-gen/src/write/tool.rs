//! QMPI tools in C: the skeleton of a new one, and one that intercepts everything and does nothing.

use std::collections::BTreeSet;

use crate::availability::has_vendor_types;
use crate::error::{Result, ShimError};
use crate::numbering::enumerator;
use crate::read::header::Header;
use crate::read::prototype::Prototype;
use crate::write::qmpi::shifted_parameters;

const SKELETON: &str = include_str!("../../data/skeleton.c");
const PASSTHROUGH: &str = include_str!("../../data/qmpi-passthrough.c");

/// Where a tool asks for the next functions, so every skeleton intercepts these, as far as the header has them.
const INITIALIZATION: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Session_init"];

/// C text of a new tool for these functions (without `P`): registration, storage, cached look-ups, empty wrappers.
///
/// `name` is a C identifier; `includes` are the names for `#include <...>`, in order.
///
/// # Errors
/// If no header declares one of the functions.
pub fn skeleton(headers: &[Header], includes: &[String], name: &str, functions: &[String]) -> Result<String> {
    let find = |function: &str| headers.iter().find_map(|header| header.function(function));
    let mut prototypes: Vec<_> = INITIALIZATION.iter().filter_map(|function| find(function)).collect();
    let mut done: BTreeSet<_> = prototypes.iter().map(|prototype| prototype.name.clone()).collect();
    for function in functions {
        let prototype = find(function).ok_or_else(|| ShimError::NoFunction(function.clone()))?;
        if done.insert(function.clone()) {
            prototypes.push(prototype);
        }
    }
    Ok(filled(SKELETON, includes, name, &prototypes, skeleton_wrapper))
}

/// C text of a tool that passes every function of the headers on, except those of `exclude`.
#[must_use]
pub fn qmpi_passthrough(headers: &[Header], includes: &[String], name: &str, exclude: &BTreeSet<String>) -> String {
    let mut done = BTreeSet::new();
    let all = headers.iter().flat_map(Header::functions).map(|declared| &declared.prototype);
    let prototypes: Vec<_> =
        all.filter(|found| !exclude.contains(&found.name) && done.insert(found.name.as_str())).collect();
    filled(PASSTHROUGH, includes, name, &prototypes, passthrough_wrapper)
}

type Wrapper = fn(&Prototype, &str) -> String;

fn filled(template: &str, includes: &[String], name: &str, prototypes: &[&Prototype], wrapper: Wrapper) -> String {
    let lines = |line: &dyn Fn(&Prototype) -> String| {
        prototypes.iter().map(|prototype| line(prototype)).collect::<Vec<_>>().join("\n")
    };
    let includes: Vec<_> = includes.iter().map(|include| format!("#include <{include}>")).collect();
    let registration = |prototype: &Prototype| {
        let (number, stem) = (enumerator(&prototype.name), stem(&prototype.name));
        format!("    QMPI_Register_function(tool_id, {number}, (void (*)(void)) {name}_{stem});")
    };
    template
        .replace("@INCLUDES@", &includes.join("\n"))
        .replace("@PLACES@", &lines(&|prototype| format!("    NEXT_{},", stem(&prototype.name))))
        .replace("@NUMBERS@", &lines(&|prototype| format!("    {},", enumerator(&prototype.name))))
        .replace("@WRAPPERS@", &prototypes.iter().map(|prototype| wrapper(prototype, name)).collect::<String>())
        .replace("@REGISTRATIONS@", &lines(&registration))
        .replace("@NAME@", name)
}

/// `Send` of `MPI_Send`, `X_Send` of `MPIX_Send`: there are functions of both names.
fn stem(function: &str) -> String {
    match function.strip_prefix("MPI_") {
        Some(rest) => rest.to_owned(),
        None => function.replace("MPIX_", "X_"),
    }
}

/// `static int mytool_Send(QMPI_Context context, int tool_id, ...)`
fn head(prototype: &Prototype, tool: &str) -> String {
    declaration(prototype, "static", &format!("{tool}_{}", stem(&prototype.name)))
}

fn declaration(prototype: &Prototype, class: &str, name: &str) -> String {
    wrapped(&format!("{class} {} {name}({})", prototype.result, shifted_parameters(prototype)))
}

/// The line, broken at commas where it is too long, the rest below what follows the last parenthesis before the first comma.
fn wrapped(line: &str) -> String {
    const WIDTH: usize = 110;
    let mut parts = line.split(", ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    let indent = text.rfind('(').map_or(8, |place| place + 1);
    let mut column = text.len();
    for part in parts {
        if column + part.len() + 3 > WIDTH {
            text += &format!(",\n{:indent$}{part}", "");
            column = indent + part.len();
        } else {
            text += &format!(", {part}");
            column += 2 + part.len();
        }
    }
    text
}

/// The type of a function as tools see it: that of `qmpi.h`, or one of this tool's own, and its declaration.
fn function_type(prototype: &Prototype, tool: &str) -> (String, String) {
    if !has_vendor_types(prototype) {
        return (format!("Q{}_t", prototype.name), String::new());
    }
    let name = format!("{tool}_{}_t", stem(&prototype.name));
    let declaration = format!("\n{};\n", declaration(prototype, "typedef", &name));
    (name, declaration)
}

/// `context, tool_id, buf, count`
fn arguments(tool_id: &str, prototype: &Prototype) -> String {
    let own = prototype.arguments();
    format!("context, {tool_id}{}{own}", if own.is_empty() { "" } else { ", " })
}

/// `((QMPI_Send_t *) next->function)(context, next->tool_id, buf, count)`
fn call(prototype: &Prototype, function_type: &str) -> String {
    format!("(({function_type} *) next->function)({})", arguments("next->tool_id", prototype))
}

fn skeleton_wrapper(prototype: &Prototype, tool: &str) -> String {
    let (function_type, declaration) = function_type(prototype, tool);
    let (result, stem) = (&prototype.result, stem(&prototype.name));
    let [variable, set, back] = if result == "void" {
        Default::default()
    } else {
        [&format!("    {result} returned;\n"), "returned = ", "    return returned;\n"].map(str::to_owned)
    };
    let variadic = if prototype.variadic {
        "    /* C has no way to pass on what follows the named arguments: read it here if your tool knows it. */\n"
    } else {
        ""
    };
    format!(
        "{declaration}\n{}\n{{\n    struct instance *self = instance_of(context, tool_id);\n    const struct next *next = \
         &self->next[NEXT_{stem}];\n{variable}\n    /* TODO: before the call */\n{variadic}{}\n    /* TODO: after the call \
         */\n{back}}}\n",
        head(prototype, tool),
        wrapped(&format!("    {set}{};", call(prototype, &function_type))),
    )
}

/// The wrapper, and what it calls instead of going on when an instance has not asked yet.
fn passthrough_wrapper(prototype: &Prototype, tool: &str) -> String {
    let stem = stem(&prototype.name);
    let back = if prototype.result == "void" { "" } else { "return " };
    let again = |name: &str| wrapped(&format!("{back}{name}_{stem}({});", arguments("tool_id", prototype)));
    let first = format!("{tool}_first");
    let first_head = head(prototype, &first).replacen("static", "FIRST", 1);
    let (function_type, declaration) = function_type(prototype, tool);
    format!(
        "{declaration}\n{first_head};\n\n{}\n{{\n    const struct next *next = &table[NEXT_{stem}][tool_id];\n    if \
         (IS_FIRST(next)) {{\n        {}\n    }} else {{\n        {back}{};\n    }}\n}}\n\n{first_head}\n{{\n    ask(tool_id, \
         NEXT_{stem});\n    {}\n}}\n",
        head(prototype, tool),
        again(&first),
        call(prototype, &function_type),
        again(tool),
    )
}
