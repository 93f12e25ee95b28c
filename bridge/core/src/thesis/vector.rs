//! How the C structs of the prototype are filled ([`qmpi_ring::thesis`]).

use std::ffi::{CString, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};

use qmpi_abi::thesis::{self, COUNT};
use qmpi_links::missing;
use qmpi_ring::thesis::{Cell, DynamicLib, PATH, Vector};

use super::library::{NOT_INTERCEPTED, ThesisLibrary};
use crate::chain::Chain;
use crate::qmpi::ToolId;

/// By number in the thesis's table: a stub that says that the function is missing; 0 where it is not, or where the stack has no
/// tool of the prototype.
static UNSUPPORTED: [AtomicUsize; COUNT] = [const { AtomicUsize::new(0) }; COUNT];
/// The same for what is not in the table.
static UNKNOWN: AtomicUsize = AtomicUsize::new(0);

/// Fills in what comes next while the chain grows.
pub(crate) struct VectorBuilder {
    layers: &'static [&'static DynamicLib],
    vector: &'static Vector,
}

impl VectorBuilder {
    /// For these layers, outermost first; `None` for tools of other kinds.
    pub(crate) fn new(layers: &[Option<&ThesisLibrary>]) -> VectorBuilder {
        let items: Vec<&'static DynamicLib> =
            [None].iter().chain(layers).map(|layer| &*Box::leak(Box::new(self::layer(*layer)))).collect();
        let total = c_int::try_from(items.len()).unwrap_or(c_int::MAX);
        let layers = &*Box::leak(items.into_boxed_slice());
        let items = AtomicPtr::new(layers.as_ptr().cast_mut());
        let vector = Box::leak(Box::new(Vector { items, capacity: total, total }));
        let stub =
            missing::stub(CALLER, "a function that has no number in its table", "so it does not exist".into(), HINT);
        UNKNOWN.store(stub, Ordering::Release);
        VectorBuilder { layers, vector }
    }

    /// The address of the vector.
    pub(crate) fn vector(&self) -> usize {
        std::ptr::from_ref(self.vector).expose_provenance()
    }

    /// What is below the layer at this place of the stack is complete: `chain` ends there.
    pub(crate) fn below(&self, tool: ToolId, mpi: &str, chain: &mut Chain) {
        let Some(layer) = usize::try_from(tool.level()).ok().and_then(|level| self.layers.get(level)) else { return };
        for (index, cell) in layer.table.iter().enumerate() {
            let Some(id) = thesis::function(index) else { continue };
            if let Some((address, tool)) = chain.thesis(id) {
                cell.level.store(tool.level(), Ordering::Relaxed);
                cell.func_ptr.store(std::ptr::with_exposed_provenance_mut(address), Ordering::Release);
            } else if UNSUPPORTED[index].load(Ordering::Relaxed) == 0 {
                let reason = format!("which {mpi} does not have");
                UNSUPPORTED[index].store(missing::stub(CALLER, id.name(), reason, HINT), Ordering::Release);
            }
        }
    }
}

/// What calls a missing function, for the message.
const CALLER: &str = "a tool with get_interceptions";
const HINT: &str = "run the tool on an MPI that has this function; QMPI_Table_query returns 1 where it is missing";

/// A function that says what is missing; 0 if there is no such tool in the stack.
pub(crate) extern "C" fn unsupported(index: c_int) -> usize {
    let stub = usize::try_from(index).ok().and_then(|index| UNSUPPORTED.get(index));
    let of_function = stub.map_or(0, |stub| stub.load(Ordering::Acquire));
    if of_function == 0 { UNKNOWN.load(Ordering::Acquire) } else { of_function }
}

/// A layer before it is known what comes next.
fn layer(library: Option<&ThesisLibrary>) -> DynamicLib {
    let not_intercepted = NOT_INTERCEPTED.as_ptr().cast_mut();
    let layer = DynamicLib {
        path: path(library),
        handle: AtomicUsize::new(library.map_or(0, |library| library.handle)),
        mpi_interceptions: [const { AtomicPtr::new(null_mut()) }; COUNT],
        table: [const { Cell { func_ptr: AtomicPtr::new(null_mut()), level: AtomicI32::new(0) } }; COUNT],
        context: AtomicPtr::new(null_mut()),
    };
    for name in &layer.mpi_interceptions {
        name.store(not_intercepted, Ordering::Relaxed);
    }
    for (index, name) in library.into_iter().flat_map(|library| &library.names) {
        layer.mpi_interceptions[*index].store(CString::clone(name).into_raw(), Ordering::Relaxed);
    }
    layer
}

/// As much of the path as there is room for, and a NUL.
fn path(library: Option<&ThesisLibrary>) -> [u8; PATH] {
    let mut path = [0; PATH];
    let text = library.map(|library| library.path.as_os_str().as_encoded_bytes()).unwrap_or_default();
    for (place, byte) in path.iter_mut().take(PATH - 1).zip(text) {
        *place = *byte;
    }
    path
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::mem::{align_of, offset_of, size_of};
    use std::path::Path;
    use std::process::Command;

    use super::*;

    /// The C compiler's opinion of the header is ours.
    #[test]
    fn the_layout_is_that_of_the_header() {
        let facts = [
            ("sizeof(cell)", size_of::<Cell>()),
            ("_Alignof(cell)", align_of::<Cell>()),
            ("offsetof(cell, func_ptr)", offset_of!(Cell, func_ptr)),
            ("offsetof(cell, level)", offset_of!(Cell, level)),
            ("sizeof(struct dynamic_lib)", size_of::<DynamicLib>()),
            ("_Alignof(struct dynamic_lib)", align_of::<DynamicLib>()),
            ("offsetof(struct dynamic_lib, path)", offset_of!(DynamicLib, path)),
            ("offsetof(struct dynamic_lib, handle)", offset_of!(DynamicLib, handle)),
            ("offsetof(struct dynamic_lib, mpi_interceptions)", offset_of!(DynamicLib, mpi_interceptions)),
            ("offsetof(struct dynamic_lib, table)", offset_of!(DynamicLib, table)),
            ("offsetof(struct dynamic_lib, context)", offset_of!(DynamicLib, context)),
            ("sizeof(vector)", size_of::<Vector>()),
            ("_Alignof(vector)", align_of::<Vector>()),
            ("offsetof(vector, items)", offset_of!(Vector, items)),
            ("offsetof(vector, capacity)", offset_of!(Vector, capacity)),
            ("offsetof(vector, total)", offset_of!(Vector, total)),
        ];
        let asserts: String =
            facts.iter().map(|(what, value)| format!("_Static_assert({what} == {value}, \"{what}\");\n")).collect();
        let directory = std::env::temp_dir().join(format!("qmpi-thesis-layout-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let source = directory.join("layout.c");
        std::fs::write(&source, format!("#include \"qmpi_thesis.h\"\n{asserts}")).unwrap();
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../include");
        let output = Command::new("cc").args(["-std=c11", "-fsyntax-only", "-I"]).arg(include).arg(&source).output();
        std::fs::remove_dir_all(&directory).unwrap();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
