//! `qmpi.h` beside every real `mpi.h`, in C and C++, before and after it.
//!
//! Needs `QMPI_TEST_HEADERS` (see `fresh.rs`), a C and a C++ compiler (`cc`, `c++`, or `$CC`, `$CXX`).

mod headers;

use std::fmt::Write as _;
use std::path::Path;

use headers::{compiles, include_directories};
use shim_gen::{FunctionList, HeaderNumbering, enumerator};

const C: &[&str] = &["-std=c99", "-pedantic"];
const CXX: &[&str] = &["-std=c++11", "-pedantic", "-Wno-long-long"];
const AFTER: &str = "#include <mpi.h>\n#include <qmpi.h>\n";
const BEFORE: &str = "#include <qmpi.h>\n#include <mpi.h>\n#include <qmpi.h>\n";

fn table() -> FunctionList {
    FunctionList::read(Path::new("../bridge/abi/functions.tsv")).unwrap_or_else(|error| panic!("{error}"))
}

/// Compiles `text` in both languages beside every header, behind `includes`.
fn everywhere(name: &str, includes: &str, text: &dyn Fn(&str) -> String) {
    everywhere_as(C, name, includes, text);
}

/// The same, with these options of the C compiler.
fn everywhere_as(c: &[&str], name: &str, includes: &str, text: &dyn Fn(&str) -> String) {
    for (label, directory) in include_directories().into_iter().flatten() {
        let text = format!("{includes}{}", text(&label));
        compiles(&format!("{name}-{label}"), &text, c, &directory);
        compiles(&format!("{name}-{label}"), &text, CXX, &directory);
    }
}

#[test]
fn compiles_in_any_order() {
    everywhere("after", AFTER, &|_| "int x;\n".to_owned());
    everywhere("before", BEFORE, &|_| "int x;\n".to_owned());
}

/// An array type with a negative length where a condition is false: an assertion in any C and C++.
fn assertion(text: &mut String, condition: &str) {
    let _ = writeln!(text, "extern char check[({condition}) ? 1 : -1];");
}

#[test]
fn numbers_are_those_of_the_table_or_of_the_mpi() {
    let table = table();
    let numberings =
        HeaderNumbering::read_all(Path::new("../bridge/abi/numbering")).unwrap_or_else(|error| panic!("{error}"));
    everywhere("numbers", AFTER, &|label| {
        let mut text = String::new();
        let native = numberings.iter().find(|numbering| {
            let is = |(major, minor, patch): &(u8, u8, u8)| label == format!("mpich-{major}.{minor}.{patch}");
            numbering.releases.iter().any(is)
        });
        assert_eq!(native.is_some(), label.starts_with("mpich"), "{label}");
        for (id, row) in table.rows.iter().enumerate() {
            let name = enumerator(&row.name);
            let known = native.map(|native| native.values.iter().find(|(_, known)| *known == name));
            let value = match known {
                Some(Some((value, _))) => value.to_string(),
                Some(None) => format!("0x10000 + {id}"),
                None if label == "mpi_abi" => format!("0x10000 + {id}"),
                None => id.to_string(),
            };
            assertion(&mut text, &format!("(int) {name} == {value}"));
        }
        if native.is_none() {
            let first = if label == "mpi_abi" { 0x10000 } else { 0 };
            assertion(&mut text, &format!("MPI_LAST_FUNC_T == {}", first + table.rows.len()));
        }
        assertion(&mut text, "QMPIX_FUNCTION_BASE == 0x10000 && QMPI_MAX_TOOL_NAME_LENGTH == 256");
        assertion(&mut text, "sizeof(QMPI_Context) == sizeof(void *) && sizeof(MPI_Context) == sizeof(void *)");
        text
    });
}

#[test]
fn every_standard_function_of_the_header_has_its_types() {
    let own = table();
    for (label, directory) in include_directories().into_iter().flatten() {
        let header = headers::read(&directory.join("mpi.h"));
        let mut text = AFTER.to_owned();
        for row in &own.rows {
            if header.function(&row.name).is_some() && row.name.starts_with("MPI_") {
                let name = &row.name;
                let _ = writeln!(text, "extern Q{name}_t Q{name}; extern {name}_t *use_{name};");
            }
        }
        compiles(&format!("types-{label}"), &text, C, &directory);
        compiles(&format!("types-{label}"), &text, CXX, &directory);
    }
}

/// The example of the Forum's slides of September 2021, with arguments where the slides have dots.
const SLIDES: &str = r#"
#include <stdlib.h>

struct tool_struct { int my_tool_id; };

int Example_Send(QMPI_Context context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm);
int Example_Recv(QMPI_Context context, int tool_id, void *buf, int count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status *status);
void example_init_function_pointer(int tool_id);
void register_my_tool(void);

__attribute__((constructor)) void register_my_tool(void)
{
    MPI_Register_tool_name("example", &example_init_function_pointer);
}

void example_init_function_pointer(int tool_id)
{
    struct tool_struct *my_tool_struct = (struct tool_struct *) calloc(1, sizeof(struct tool_struct));
    my_tool_struct->my_tool_id = tool_id;
    MPI_Register_tool_storage(tool_id, my_tool_struct);
    MPI_Register_function(tool_id, MPI_SEND_T, (void (*)(void)) &Example_Send);
    MPI_Register_tool_function(tool_id, MPI_RECV_T, (void (*)(void)) &Example_Recv);
    /* Not an enumerator of MPICH 4. */
    MPI_Register_tool_function(tool_id, MPI_FILE_OPEN_T, (void (*)(void)) &Example_Recv);
    QMPIX_Register_function_by_name(tool_id, "MPIX_Comm_revoke", (void (*)(void)) &Example_Recv);
}

int Example_Send(QMPI_Context context, int tool_id, const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
                 MPI_Comm comm)
{
    MPI_Send_t *next_fn;
    int next_tool_id;
    MPI_Get_function(tool_id, MPI_SEND_T, (void (**)(void)) &next_fn, &next_tool_id);
    return (*next_fn)(context, next_tool_id, buf, count, datatype, dest, tag, comm);
}

int Example_Recv(QMPI_Context context, int tool_id, void *buf, int count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Status *status)
{
    enum MPI_Functions_enum function = MPI_RECV_T;
    MPI_Context same = context;
    QMPI_Recv_t *next;
    struct tool_struct *mine;
    void *caller;
    int next_id;
    MPI_Get_tool_storage(same, tool_id, &mine);
    MPI_Get_calling_address(context, &caller);
    QMPI_Get_tool_storage(context, tool_id, &caller);
    QMPI_Get_calling_address(context, &caller);
    QMPI_Get_function(tool_id, function, (void (**)(void)) &next, &next_id);
    MPI_Get_next_tool_function(tool_id, function, (void (**)(void)) &next, &next_id);
    if (mine->my_tool_id != tool_id) {
        return QMPI_Recv(context, tool_id, buf, count, datatype, source, tag, comm, status);
    }
    return next(context, next_id, buf, count, datatype, source, tag, comm, status);
}
"#;

#[test]
fn the_example_of_the_slides() {
    // The context in three types is an extension of GCC and Clang: `-pedantic` is right to say so.
    everywhere_as(&["-std=gnu99"], "slides", AFTER, &|_| SLIDES.to_owned());
}

#[test]
fn vendor_types_are_used_where_they_are() {
    let text = "#include <mpi.h>\n#include <mpi-ext.h>\n#include <qmpi.h>\nextern QOMPI_Affinity_str_t *use;\n";
    for (label, directory) in include_directories().into_iter().flatten() {
        if directory.join("mpi-ext.h").is_file() {
            compiles(&format!("vendor-{label}"), text, &["-std=c11", "-pedantic"], &directory);
        }
    }
}
