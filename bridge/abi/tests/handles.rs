//! The table of what functions do with handles is what their prototypes in `qmpi.h` say.
//!
//! `BLESS=1 cargo test -p qmpi-abi --test handles` writes it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use qmpi_abi::{FnId, Handles};

/// Handles of objects that a function makes or ends where it takes their address.
const OBJECTS: [&str; 11] = [
    "MPI_Comm",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_File",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Op",
    "MPI_Session",
    "MPI_Win",
    "MPIX_Stream",
];

/// Functions that are needed though no prototype says so, by what their names begin with.
const NEEDED: [&str; 50] = [
    // MPI itself, and what a tool measures.
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Abort",
    "MPI_Pcontrol",
    "MPI_Buffer_attach",
    "MPI_Buffer_detach",
    "MPI_T_",
    // Names and attributes of objects.
    "MPI_Comm_set_",
    "MPI_Win_set_",
    "MPI_Type_set_",
    "MPI_File_set_",
    "MPI_Session_set_",
    "MPI_Info_set",
    "MPI_Info_delete",
    "MPI_Comm_delete_attr",
    "MPI_Win_delete_attr",
    "MPI_Type_delete_attr",
    "MPI_Comm_create_keyval",
    "MPI_Win_create_keyval",
    "MPI_Type_create_keyval",
    "MPI_Comm_free_keyval",
    "MPI_Win_free_keyval",
    "MPI_Type_free_keyval",
    "MPI_Keyval_",
    "MPI_Attr_put",
    "MPI_Attr_delete",
    "MPI_Errhandler_set",
    // Memory of windows.
    "MPI_Win_attach",
    "MPI_Win_detach",
    "MPI_Alloc_mem",
    "MPI_Free_mem",
    // Epochs of windows.
    "MPI_Win_complete",
    "MPI_Win_fence",
    "MPI_Win_lock",
    "MPI_Win_post",
    "MPI_Win_start",
    "MPI_Win_test",
    "MPI_Win_unlock",
    "MPI_Win_wait",
    // Ports.
    "MPI_Open_port",
    "MPI_Close_port",
    "MPI_Publish_name",
    "MPI_Unpublish_name",
    // Extensions.
    "MPIX_Stream_",
    "MPIX_Threadcomm_",
    "MPIX_Comm_create_",
    "MPIX_File_create_",
    "MPIX_Win_create_",
    "MPIX_Op_create_",
];

/// Functions with the address of a request that they do not give.
const TAKES_ADDRESS: [&str; 8] = [
    "MPI_Cancel",
    "MPI_Request_free",
    "MPI_Start",
    "MPI_Test",
    "MPI_Wait",
    "MPIX_Start_enqueue",
    "MPIX_Wait_enqueue",
    "MPIX_Request_free",
];

/// The arguments of each function, by its C name.
fn prototypes() -> BTreeMap<String, Vec<String>> {
    let header = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include/qmpi.h");
    let text = std::fs::read_to_string(header).expect("qmpi.h");
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((head, rest)) = line.split_once("_t(QMPI_Context context, int tool_id") else { continue };
        let Some(name) = head.rsplit([' ', '*']).next().and_then(|name| name.strip_prefix('Q')) else { continue };
        let Some((arguments, _)) = rest.rsplit_once(')') else { continue };
        let arguments = arguments.trim_start_matches(',').split(',').map(|one| one.trim().to_owned());
        found.insert(name.to_owned(), arguments.filter(|one| !one.is_empty()).collect());
    }
    found
}

fn handles(name: &str, arguments: &[String]) -> String {
    let is_address = |argument: &str, handle: &str| {
        let of_type = argument.strip_prefix(handle).is_some_and(|rest| rest.starts_with([' ', '*']));
        of_type && (argument.contains('*') || argument.contains('['))
    };
    let makes_object = arguments.iter().any(|argument| OBJECTS.iter().any(|handle| is_address(argument, handle)));
    // The two halves of a split collective operation, as in MPI_File_read_all_begin.
    let is_half = name.starts_with("MPI_File_") && (name.ends_with("_begin") || name.ends_with("_end"));
    let is_needed = makes_object
        || is_half
        || name.ends_with("attach_buffer")
        || name.ends_with("detach_buffer")
        || NEEDED.iter().any(|needed| name == *needed || (needed.ends_with('_') && name.starts_with(needed)))
        || NEEDED.iter().any(|needed| needed.starts_with("MPI_Win_") && name.starts_with(needed));
    let place = |wanted: &dyn Fn(&str) -> bool| arguments.iter().position(|argument| wanted(argument));
    let array =
        place(&|argument| argument.trim_start_matches("const ").starts_with("MPI_Request ") && argument.contains('['));
    let address = place(&|argument| argument.starts_with("MPI_Request *"));
    let value = place(&|argument| argument.starts_with("MPI_Request ") && !argument.contains(['*', '[']));
    let is_conversion = name.ends_with("_c2f") || name.ends_with("_toint");
    match (array, address, value) {
        (Some(1), ..) => "Requests".into(),
        (Some(_), ..) => panic!("{name}: an array of requests elsewhere"),
        (_, Some(place), _) if TAKES_ADDRESS.contains(&name) => format!("Request({place})"),
        (_, Some(place), _) if place + 1 == arguments.len() => {
            if is_needed {
                "ObjectAndStarts".into()
            } else {
                "Starts".into()
            }
        }
        (_, Some(_), _) => panic!("{name}: a request that is not the last argument"),
        (_, _, Some(place)) if !is_conversion => format!("RequestValue({place})"),
        _ if is_needed => "Object".into(),
        _ => "Uses".into(),
    }
}

fn expected() -> Vec<(FnId, String)> {
    let prototypes = prototypes();
    let of = |id: FnId| {
        // What no header of C declares has no prototype there; none of these has a request.
        let arguments = prototypes.get(id.name()).map(Vec::as_slice).unwrap_or_default();
        (id, handles(id.name(), arguments))
    };
    FnId::all().map(of).collect()
}

#[test]
fn the_table_is_what_the_prototypes_say() {
    let expected = expected();
    if std::env::var_os("BLESS").is_some() {
        let mut text = String::from(
            "//! What each function does with handles, by its number.\n//!\n//! @generated from qmpi.h by `BLESS=1 cargo test -p qmpi-abi --test handles`.\n\nuse super::Handles::{self, Object, ObjectAndStarts, Request, RequestValue, Requests, Starts, Uses};\nuse crate::COUNT;\n\n#[rustfmt::skip]\npub(super) static HANDLES: [Handles; COUNT] = [\n",
        );
        for (id, handles) in &expected {
            let _ = writeln!(text, "    {handles}, // {}", id.name());
        }
        text.push_str("];\n");
        std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/handles/table.rs"), text).expect("written");
        return;
    }
    for (id, handles) in expected {
        assert_eq!(format!("{:?}", Handles::of(id)), handles, "{}: BLESS=1 writes the table", id.name());
    }
}

#[test]
fn some_that_are_known() {
    let of = |name| Handles::of(FnId::by_name(name).expect("a function"));
    for (names, handles) in [
        (
            &["MPI_Isend", "MPI_Irecv", "MPI_Ialltoallw", "MPI_Send_init", "MPI_File_iread", "MPI_Rput"][..],
            Handles::Starts,
        ),
        (&["MPI_Comm_idup", "MPI_Imrecv"], Handles::ObjectAndStarts),
        (&["MPI_Wait", "MPI_Test", "MPI_Request_free", "MPI_Cancel", "MPI_Start"], Handles::Request(0)),
        (&["MPI_Waitall", "MPI_Testsome", "MPI_Startall", "MPI_Request_get_status_any"], Handles::Requests),
        (&["MPI_Request_get_status", "MPI_Grequest_complete"], Handles::RequestValue(0)),
        (&["MPI_Pready"], Handles::RequestValue(1)),
        (&["MPI_Comm_split", "MPI_Type_commit", "MPI_Win_free", "MPI_File_open", "MPI_Win_lock_all"], Handles::Object),
        (&["MPI_Init", "MPI_Finalize", "MPI_Pcontrol", "MPI_File_read_all_end", "MPI_Mrecv"], Handles::Object),
        (&["MPI_Send", "MPI_Comm_rank", "MPI_Allreduce", "MPI_Alltoallw", "MPI_Request_c2f", "MPI_Put"], Handles::Uses),
        (&["MPI_Initialized", "MPI_Finalized", "MPI_File_read_all", "MPI_Win_flush"], Handles::Uses),
    ] {
        for name in names {
            assert_eq!(of(name), handles, "{name}");
        }
    }
}
