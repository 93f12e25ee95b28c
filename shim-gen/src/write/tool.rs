//! QMPI tools in C: the skeleton of a new one, and one that intercepts everything and does nothing.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::availability::has_vendor_types;
use crate::error::{Error, Result};
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
        let prototype = find(function).ok_or_else(|| Error::NoFunction { name: function.clone() })?;
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
    // MPI-3.0 removed the name; the type is the same.
    let parameters = shifted_parameters(prototype).replace("MPI_Handler_function", "MPI_Comm_errhandler_function");
    wrapped(&format!("{class} {} {name}({parameters})", prototype.result), '(')
}

/// The line, broken at commas where it is too long, the rest below what follows the last `opening` before the first comma.
fn wrapped(line: &str, opening: char) -> String {
    const WIDTH: usize = 110;
    let list = line.split(", ").next().unwrap_or_default();
    let indent = " ".repeat(list.rfind(opening).map_or(8, |place| place + 1));
    let mut text = String::new();
    let mut column = 0;
    for (number, part) in line.split(", ").enumerate() {
        if number > 0 {
            text.push(',');
            if column + part.len() + 3 > WIDTH {
                text.push('\n');
                text.push_str(&indent);
                column = indent.len();
            } else {
                text.push(' ');
                column += 2;
            }
        }
        text.push_str(part);
        column += part.len();
    }
    text
}

/// The type of a function as tools see it: that of `qmpi.h`, or one of this tool's own, and its declaration.
fn function_type(prototype: &Prototype, tool: &str) -> (String, Option<String>) {
    if !has_vendor_types(prototype) {
        return (format!("Q{}_t", prototype.name), None);
    }
    let name = format!("{tool}_{}_t", stem(&prototype.name));
    let declaration = format!("\n{};\n", declaration(prototype, "typedef", &name));
    (name, Some(declaration))
}

/// `((QMPI_Send_t *) next->function)(context, next->tool_id, buf, count)`
fn call(prototype: &Prototype, function_type: &str) -> String {
    let own = prototype.arguments();
    let more = if own.is_empty() { String::new() } else { format!(", {own}") };
    format!("(({function_type} *) next->function)(context, next->tool_id{more})")
}

fn skeleton_wrapper(prototype: &Prototype, tool: &str) -> String {
    let (function_type, declaration) = function_type(prototype, tool);
    let mut text = format!("{}\n{}\n{{\n", declaration.unwrap_or_default(), head(prototype, tool));
    let stem = stem(&prototype.name);
    let has_result = prototype.result != "void";
    // Writing into a String cannot fail, here and below.
    let _ = writeln!(text, "    struct instance *self = instance_of(context, tool_id);");
    let _ = writeln!(text, "    const struct next *next = &self->next[NEXT_{stem}];");
    if has_result {
        let _ = writeln!(text, "    {} returned;", prototype.result);
    }
    text.push_str("\n    /* TODO: before the call */\n");
    if prototype.variadic {
        text.push_str(
            "    /* C has no way to pass on what follows the named arguments: read it here if your tool knows it. */\n",
        );
    }
    let set = if has_result { "returned = " } else { "" };
    let _ = writeln!(text, "{}", wrapped(&format!("    {set}{};", call(prototype, &function_type)), '('));
    text.push_str("    /* TODO: after the call */\n");
    if has_result {
        text.push_str("    return returned;\n");
    }
    text.push_str("}\n");
    text
}

/// The wrapper, and what it calls instead of going on when an instance has not asked yet.
fn passthrough_wrapper(prototype: &Prototype, tool: &str) -> String {
    let stem = stem(&prototype.name);
    let own = prototype.arguments();
    let more = if own.is_empty() { String::new() } else { format!(", {own}") };
    let back = if prototype.result == "void" { "" } else { "return " };
    let again = |name: &str| wrapped(&format!("{back}{name}_{stem}(context, tool_id{more});"), '(');
    let first = format!("{tool}_first");
    let (function_type, declaration) = function_type(prototype, tool);
    format!(
        "{}\n{};\n\n{}\n{{\n    const struct next *next = &table[NEXT_{stem}][tool_id];\n    if (IS_FIRST(next)) {{\n        \
         {}\n    }} else {{\n        {back}{};\n    }}\n}}\n\n{}\n{{\n    ask(tool_id, NEXT_{stem});\n    {}\n}}\n",
        declaration.unwrap_or_default(),
        head(prototype, &first).replacen("static", "FIRST", 1),
        head(prototype, tool),
        again(&first),
        call(prototype, &function_type),
        head(prototype, &first).replacen("static", "FIRST", 1),
        again(tool),
    )
}
