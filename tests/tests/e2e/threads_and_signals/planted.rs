//! What the tests under valgrind find if it is there: races and misuse of memory that are planted in the entry library, in the core and in a
//! copy of a stub.

use qmpi_tests::valgrind::{Findings, Tool};
use qmpi_tests::{Mpi, Trial, Verdict, mixed_stack, on_each_mpi, planted};

qmpi_tests::module!(trials);

/// Without names of its own functions.
const ENTRY: &str = "libqmpi.so";
const CORE: &str = "libqmpi_core.so";

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("races", &[Mpi::Mpich], races),
        ("memory", &[Mpi::Mpich], memory),
        ("attributed", &[Mpi::Mpich], attributed),
    ])
}

fn races(mpi: Mpi) -> Verdict {
    let runtime = planted::runtime();
    let found = mixed_stack::named_stacks(Tool::Helgrind, mpi, &runtime)?;
    found.expect("Race", CORE, "qmpi_core::planted::race")?;
    found.expect("Race", ENTRY, "")?;
    let found = mixed_stack::calls(Tool::Helgrind, mpi, &runtime)?;
    // A copy of a stub.
    Ok(found.expect("Race", CORE, "")?)
}

fn memory(mpi: Mpi) -> Verdict {
    let found = mixed_stack::calls(Tool::Memcheck, mpi, &planted::runtime())?;
    for kind in ["InvalidRead", "UninitCondition"] {
        found.expect(kind, CORE, "qmpi_core::planted::memory")?;
        found.expect(kind, ENTRY, "")?;
    }
    Ok(())
}

/// Reports as valgrind writes them: which object an access is attributed to.
fn attributed(_: Mpi) -> Verdict {
    const TOOL: &str = "<frame><ip>0x1</ip><obj>/opt/tool.so</obj><fn>MPI_Send</fn></frame>";
    const CORE: &str = "<frame><ip>0x2</ip><obj>/opt/libqmpi_core.so</obj><fn>start</fn><dir>bridge/core/src</dir><file>start.rs</file></frame>";
    const TABLE: &str = "<frame><ip>0x2</ip><obj>/opt/libqmpi_core.so</obj><fn>add</fn><dir>/r/bridge/core/src/qmpi</dir><file>table.rs</file></frame>";
    const ATOMIC: &str = "<frame><ip>0x3</ip><obj>/opt/libqmpi_core.so</obj><fn>atomic_load</fn><dir>/rustc/library/core/src/sync</dir><file>atomic.rs</file></frame>";
    const STUB: &str = "<frame><ip>0x4</ip></frame>";
    const COPY: &str =
        "<frame><ip>0x5</ip><obj>/usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so</obj><fn>memmove</fn></frame>";
    const LIBC: &str = "<frame><ip>0x6</ip><obj>/lib/libc.so.6</obj><fn>qsort</fn></frame>";
    // The frames of the access, those of the other access, and whether the error is ours.
    let cases: [(&[&str], &[&str], bool); 16] = [
        (&[TOOL], &[], false),
        (&[CORE], &[], true),
        (&[STUB], &[], true),
        (&[TOOL, CORE], &[], false),
        (&[TOOL, STUB, CORE], &[], false),
        (&[COPY, CORE], &[], true),
        (&[COPY, LIBC, STUB, TOOL], &[], true),
        (&[COPY, TOOL, CORE], &[], false),
        (&[LIBC], &[], false),
        (&[TOOL], &[CORE], true),
        (&[TOOL], &[STUB], false),
        (&[ATOMIC, CORE], &[ATOMIC, CORE], false),
        (&[ATOMIC, CORE], &[CORE], true),
        (&[COPY, CORE, TABLE], &[CORE, TABLE], false),
        // What stood in the memory before.
        (&[COPY, CORE, TABLE], &[CORE], false),
        (&[CORE], &[CORE, TABLE], false),
    ];
    for (access, other, expected) in cases {
        let (access, other) = (access.concat(), other.concat());
        // A third stack says where the memory is from.
        let error = format!(
            "<error><kind>Race</kind><xwhat><text>race</text></xwhat><stack>{access}</stack>\
             <xauxwhat><text>This conflicts with a previous write</text></xauxwhat><stack>{other}</stack>\
             <auxwhat>Block was alloc'd by thread #1</auxwhat><stack>{CORE}</stack></error>"
        );
        let text = format!("<valgrindoutput>{error}<status><state>FINISHED</state></status></valgrindoutput>");
        if (Findings::parse(&text)?.ours().count() == 1) != expected {
            return Err(format!("not {expected}: {access} {other}").into());
        }
        if Findings::parse(&text.replace("FINISHED", "RUNNING")).is_ok() {
            return Err("a report without an end counts".into());
        }
    }
    Ok(())
}
