//! `bridge/include/qmpi.h`: MPI functions in the shape that QMPI gives them.

use std::collections::BTreeMap;

use crate::availability::{Availability, missing};
use crate::numbering::{HeaderNumbering, enumerator};
use crate::read::header::{Header, Label};
use crate::read::prototype::Prototype;
use crate::standard::DefinedBy;
use crate::table::{FunctionList, ListedFunction};

/// Text of the header around what is generated for each function.
const TEMPLATE: &str = include_str!("../../data/qmpi.h");

/// Functions of the interface itself: no MPI function may come to have such a name.
const RESERVED: [&str; 8] = [
    "QMPI_Register_tool_name",
    "QMPI_Register_tool_storage",
    "QMPI_Register_function",
    "QMPI_Get_function",
    "QMPI_Get_tool_storage",
    "QMPI_Get_calling_address",
    "QMPIX_Register_function_by_name",
    "QMPIX_Get_function_by_name",
];

/// `QMPI_Send` of `MPI_Send`, `QMPIX_Comm_revoke` of `MPIX_Comm_revoke`; `None` if the interface has that name itself.
pub(crate) fn shifted_name(function: &str) -> Option<String> {
    let name = format!("Q{function}");
    (!RESERVED.contains(&name.as_str())).then_some(name)
}

/// `QMPI_Context context, int tool_id, const void *buf, int count`
pub(crate) fn shifted_parameters(prototype: &Prototype) -> String {
    // MPI_Handler_function went with MPI-3.0, and is the same type.
    let own = prototype.parameters().replace("MPI_Handler_function", "MPI_Comm_errhandler_function");
    let more = if own == "void" { String::new() } else { format!(", {own}") };
    format!("QMPI_Context context, int tool_id{more}")
}

/// The text of `qmpi.h`.
pub fn qmpi_header(headers: &[(Label, Header)], numberings: &[HeaderNumbering], table: &FunctionList) -> String {
    let availability = Availability::new(headers, table);
    // The newest standard has the best types: arguments that are only read are const.
    let mut newest: Vec<_> = headers.iter().collect();
    newest.sort_by_key(|(label, _)| std::cmp::Reverse(label.version));
    let prototype = |row: &ListedFunction| newest.iter().find_map(|(_, header)| header.function(&row.name));

    let mut missing_numbers: Groups = BTreeMap::new();
    let mut functions: Groups = BTreeMap::new();
    let mut aliases: Groups = BTreeMap::new();
    for (id, row) in table.rows.iter().enumerate() {
        let lacking = missing(&row.name, numberings);
        if let Some(when) = &lacking {
            let line = format!("#define {} (QMPIX_FUNCTION_BASE + {id})", enumerator(&row.name));
            missing_numbers.entry(both("QMPIX_NATIVE_", when)).or_default().push(line);
        }
        let (Some(prototype), Some(name)) = (prototype(row), shifted_name(&row.name)) else { continue };
        let Some(available) = availability.condition(prototype) else { continue };
        let here = match lacking.as_deref() {
            None => "!QMPIX_NATIVE_".to_owned(),
            Some("1") => "1".to_owned(),
            Some(when) => format!("(!QMPIX_NATIVE_ || {when})"),
        };
        let lines = functions.entry(both(&available, &here)).or_default();
        let result = &prototype.result;
        let parameters = shifted_parameters(prototype);
        lines.push(format!("typedef {result} {name}_t({parameters});\n{name}_t {name};"));
        // Of MPICH's extensions it is MPICH's own header that knows which are there.
        if matches!(row.since, DefinedBy::Standard(_)) || lacking.as_deref() == Some("1") {
            let parameters = parameters.replacen("QMPI_Context", "QMPIX_Context_", 1);
            let line = format!("typedef {result} {}_t({parameters});", row.name);
            aliases.entry(available).or_default().push(line);
        }
    }
    let enumerators: Vec<_> = table
        .rows
        .iter()
        .enumerate()
        .map(|(id, row)| format!("    {} = QMPIX_FIRST_ + {id},", enumerator(&row.name)))
        .chain([format!("    MPI_LAST_FUNC_T = QMPIX_FIRST_ + {}", table.rows.len())])
        .collect();
    TEMPLATE
        .replace("@NEWEST_OPENMPI@", &availability.newest_openmpi.to_string())
        .replace("@ENUMERATORS@", &enumerators.join("\n"))
        .replace("@MISSING_ENUMERATORS@", &shown(&missing_numbers))
        .replace("@FUNCTIONS@", &shown(&functions))
        .replace("@ALIASES@", &shown(&aliases))
}

/// Lines of C by the condition that they stand under.
type Groups = BTreeMap<String, Vec<String>>;

fn both(left: &str, right: &str) -> String {
    match right {
        "1" => left.to_owned(),
        _ if right.contains("||") && !right.starts_with("(!") => format!("{left} && ({right})"),
        _ => format!("{left} && {right}"),
    }
}

fn shown(groups: &Groups) -> String {
    let groups = groups.iter().map(|(condition, lines)| format!("\n#if {condition}\n{}\n#endif\n", lines.join("\n")));
    groups.collect::<String>().trim().to_owned()
}
