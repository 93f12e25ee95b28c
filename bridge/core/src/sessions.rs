//! Programs that use sessions (MPI 4.0, 11.3), and layers that begin in their MPI_Init: `sessions = "world"`.
//!
//! Functions of this module stand in front of the outermost such layer:
//!
//! | the program's | comes to the layer, and |
//! |---|---|
//! | `MPI_Session_init` | before the first one the layer's MPI_Init is called, which goes on down to the MPI library |
//! | `MPI_Session_finalize` | the number of open sessions is known |
//! | `MPI_Init`, `MPI_Init_thread` | does not, if the layer's was called for a session: it sees one initialization |
//! | `MPI_Initialized` | says no until the program itself has initialized MPI |
//!
//! The layer's MPI_Finalize is called when the process exits, if no session is open then and the program has not initialized MPI itself.
//! At the end of the last session so far it would be too soon: the program may open another one, or call MPI_Init, which the standard allows
//! once. A session that is open at exit ends in an exit handler of the program, or never.
//!
//! The call of MPI_Init comes first because MPICH 4.3 does not survive one while a session is open. Sessions may be used by several threads,
//! and MPI_Init would allow a single one: the MPI library gets a call of MPI_Init_thread in its place, with the highest level.
#![expect(unsafe_code, reason = "functions of MPI, by their addresses, and atexit")]

use std::ffi::{CString, c_char, c_int};
use std::os::unix::ffi::OsStringExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};

use qmpi_abi::{FnId, INITIALIZATION, named};
use qmpi_links::observer;
use qmpi_loader::Process;
use qmpi_loader::exit::thread_local;
use qmpi_system::{Locked, log};

use crate::chain::{Chain, LoadedLayer};
use crate::finalize;
use crate::qmpi::ToolId;

/// Any of the functions that are called here: what a function does not take does no harm to it (psABI 3.2.3, AAPCS64 6.4).
type Function = extern "C" fn(usize, usize, usize, usize) -> c_int;

struct WorldLayer {
    label: String,
    /// The layer's functions, or those below it.
    functions: [(FnId, Option<Function>); 6],
    /// Has the layer MPI_Init_thread?
    has_init_thread: bool,
}

/// The MPI library's functions.
struct MpiFunctions {
    init: Option<Function>,
    init_thread: Option<Function>,
    query_thread: Option<Function>,
    /// `MPI_THREAD_MULTIPLE`
    thread_multiple: usize,
}

/// Who has initialized MPI in the World Model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorldModel {
    Nobody,
    /// The first session, for the layer.
    Session,
    /// The program, or both.
    Program,
}

struct Sessions {
    world: WorldModel,
    open: usize,
    is_exiting: bool,
}

static LAYER: OnceLock<WorldLayer> = OnceLock::new();
static MPI: OnceLock<MpiFunctions> = OnceLock::new();
static SESSIONS: Locked<Sessions> = Locked::new(Sessions { world: WorldModel::Nobody, open: 0, is_exiting: false });
/// The layer's MPI_Init is called for a session, once.
static BEGIN_WORLD: Once = Once::new();
/// That call is under way.
static BEGINS_WORLD: AtomicBool = AtomicBool::new(false);
/// Labels of layers that have a wrapper of MPI_Init and none of MPI_Session_init, the innermost first.
static WAITING_FOR_INIT: Locked<Vec<String>> = Locked::new(Vec::new());
/// MPI_Session_init arrived at the MPI library, and MPI_Init.
static ARRIVED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

const INIT: FnId = INITIALIZATION[0];
const INIT_THREAD: FnId = INITIALIZATION[1];
const SESSION_INIT: FnId = INITIALIZATION[2];
const SESSION_FINALIZE: FnId = named(b"MPI_Session_finalize");
const INITIALIZED: FnId = named(b"MPI_Initialized");
const FINALIZE: FnId = named(b"MPI_Finalize");

/// Watches how MPI is initialized; `chain` is the MPI library alone.
pub(crate) fn observe(chain: &mut Chain) {
    extern "C" fn notify(way: usize, _: usize) {
        ARRIVED[way].store(true, Ordering::Relaxed);
        finalize::remember_process();
    }
    for (id, way) in [(SESSION_INIT, 0), (INIT, 1), (INIT_THREAD, 1)] {
        chain.observe(id, |target| observer::observe(target, notify, way));
    }
}

/// There is a layer with `sessions = "world"`; `chain` is the MPI library alone.
pub(crate) fn prepare(chain: &mut Chain, process: &Process) {
    let mpi = MpiFunctions {
        init: function(chain.pmpi(INIT)),
        init_thread: function(chain.pmpi(INIT_THREAD)),
        query_thread: process.real(const { named(b"MPI_Query_thread") }).and_then(function),
        thread_multiple: process.constants(["MPI_THREAD_MULTIPLE"])[0].unwrap_or(0).cast_unsigned() as usize,
    };
    if MPI.set(mpi).is_ok() {
        chain.put_in_front(INIT, (init_mpi as *const ()).addr(), ToolId::MPI);
    }
}

/// A layer was put into the stack.
pub(crate) fn add(layer: &LoadedLayer) {
    let has = |id| layer.entries.iter().any(|(entry, _)| *entry == id);
    if (has(INIT) || has(INIT_THREAD)) && !has(SESSION_INIT) {
        WAITING_FOR_INIT.lock().push(layer.label.clone());
    }
}

/// Puts this module's functions in front of the layer, which is on top of the chain.
pub(crate) fn put_in_front(chain: &mut Chain, layer: &LoadedLayer) {
    let has_init_thread = layer.entries.iter().any(|(id, _)| *id == INIT_THREAD);
    let functions = [SESSION_INIT, SESSION_FINALIZE, INIT, INIT_THREAD, INITIALIZED, FINALIZE];
    let functions = functions.map(|id| (id, function(chain.pmpi(id))));
    // An MPI library without sessions is initialized by MPI_Init alone.
    let (_, session_init_below) = functions[0];
    if session_init_below.is_none()
        || LAYER.set(WorldLayer { label: layer.label.clone(), functions, has_init_thread }).is_err()
    {
        return;
    }
    for (id, function) in [
        (SESSION_INIT, session_init as *const ()),
        (SESSION_FINALIZE, session_finalize as *const ()),
        (INIT, init as *const ()),
        (INIT_THREAD, init_thread as *const ()),
        (INITIALIZED, initialized as *const ()),
    ] {
        chain.put_in_front(id, function.addr(), layer.tool);
    }
}

fn function(address: usize) -> Option<Function> {
    // SAFETY: zero, which is none, or the address of a function of MPI with four arguments at most, all of them words.
    unsafe { std::mem::transmute::<usize, Option<Function>>(address) }
}

/// Calls one of the layer's functions; an MPI library that does not have it would not be called here.
fn call(id: FnId, words: [usize; 4]) -> c_int {
    let functions = LAYER.get().into_iter().flat_map(|layer| layer.functions);
    invoke(functions.filter(|(known, _)| *known == id).find_map(|(_, function)| function), words)
}

fn invoke(function: Option<Function>, [a, b, c, d]: [usize; 4]) -> c_int {
    function.map_or(0, |function| function(a, b, c, d))
}

/// `MPI_Init`, as it comes to the MPI library.
extern "C" fn init_mpi(argc: usize, argv: usize) -> c_int {
    let Some(mpi) = MPI.get() else { return 0 };
    if !BEGINS_WORLD.load(Ordering::Relaxed) {
        return invoke(mpi.init, [argc, argv, 0, 0]);
    }
    let mut provided: c_int = 0;
    invoke(mpi.init_thread, [argc, argv, mpi.thread_multiple, (&raw mut provided).expose_provenance()])
}

extern "C" fn session_init(info: usize, error_handler: usize, session: usize) -> c_int {
    BEGIN_WORLD.call_once(begin_world);
    let code = call(SESSION_INIT, [info, error_handler, session, 0]);
    if code == 0 {
        SESSIONS.lock().open += 1;
    }
    code
}

extern "C" fn session_finalize(session: usize) -> c_int {
    let code = call(SESSION_FINALIZE, [session, 0, 0, 0]);
    if code == 0 {
        let mut sessions = SESSIONS.lock();
        sessions.open = sessions.open.saturating_sub(1);
        let is_exiting = sessions.is_exiting;
        drop(sessions);
        if is_exiting {
            end_world();
        }
    }
    code
}

extern "C" fn init(argc: usize, argv: usize) -> c_int {
    if program_begins_world() { call(INIT, [argc, argv, 0, 0]) } else { 0 }
}

extern "C" fn init_thread(argc: usize, argv: usize, required: usize, provided: usize) -> c_int {
    if program_begins_world() {
        return call(INIT_THREAD, [argc, argv, required, provided]);
    }
    invoke(MPI.get().and_then(|mpi| mpi.query_thread), [provided, 0, 0, 0])
}

extern "C" fn initialized(flag: *mut c_int) -> c_int {
    let code = call(INITIALIZED, [flag.expose_provenance(), 0, 0, 0]);
    if code == 0 && SESSIONS.lock().world == WorldModel::Session {
        // SAFETY: MPI has just stored the answer there.
        unsafe { flag.write(0) };
    }
    code
}

/// The program initializes MPI. Is that to come to the layer?
fn program_begins_world() -> bool {
    match std::mem::replace(&mut SESSIONS.lock().world, WorldModel::Program) {
        WorldModel::Session => {
            // Another thread may be about to do it.
            BEGIN_WORLD.call_once(|| {});
            false
        }
        WorldModel::Nobody | WorldModel::Program => true,
    }
}

/// Calls the layer's MPI_Init, unless the program has.
fn begin_world() {
    let mut sessions = SESSIONS.lock();
    if sessions.world == WorldModel::Program {
        return;
    }
    sessions.world = WorldModel::Session;
    drop(sessions);
    // Some tools look at the arguments of the program, and may change them. Both live until the process ends.
    let words = std::env::args_os().filter_map(|word| Some(CString::new(word.into_vec()).ok()?.into_raw()));
    let words: Vec<*mut c_char> = words.chain([std::ptr::null_mut()]).collect();
    let argc = Box::leak(Box::new(words.len() as c_int - 1));
    let argv = Box::leak(Box::new(words.leak().as_mut_ptr()));
    let (argc, argv) = (std::ptr::from_mut(argc).expose_provenance(), std::ptr::from_mut(argv).expose_provenance());
    BEGINS_WORLD.store(true, Ordering::Relaxed);
    let code = if LAYER.get().is_some_and(|layer| layer.has_init_thread) {
        let mut provided: c_int = 0;
        let level = MPI.get().map_or(0, |mpi| mpi.thread_multiple);
        call(INIT_THREAD, [argc, argv, level, (&raw mut provided).expose_provenance()])
    } else {
        call(INIT, [argc, argv, 0, 0])
    };
    BEGINS_WORLD.store(false, Ordering::Relaxed);
    if code != 0 {
        log::warn(&format!("MPI_Init, called for a session, returned {code}"), None);
    }
    // Tools and MPI have registered their handlers: what is registered last is called first, but behind destructors of thread-local objects.
    thread_local::before_destructors(process_exits);
    // SAFETY: the function is in this library, which is never unloaded.
    unsafe { libc::atexit(process_exits) };
}

extern "C" fn process_exits() {
    SESSIONS.lock().is_exiting = true;
    end_world();
}

/// Calls the layer's MPI_Finalize, if its MPI_Init was called for a session and the last one has ended.
fn end_world() {
    let mut sessions = SESSIONS.lock();
    let is_to_end = sessions.world == WorldModel::Session && sessions.open == 0;
    if is_to_end && finalize::is_process_of_mpi() && !finalize::has_arrived() {
        sessions.world = WorldModel::Program;
        drop(sessions);
        call(FINALIZE, [0; 4]);
    }
}

/// Says which layers have missed their start, and where MPI_Finalize was not called: at the end of the process.
pub(crate) fn say_what_was_missed() {
    let [session, world] = [&ARRIVED[0], &ARRIVED[1]].map(|arrived| arrived.load(Ordering::Relaxed));
    let waiting = WAITING_FOR_INIT.lock();
    if session && !world && !waiting.is_empty() {
        let labels: Vec<&str> = waiting.iter().rev().map(String::as_str).collect();
        log::once(
            log::LogLevel::Warn,
            &format!("warning: {} saw no MPI_Init: the program uses sessions", labels.join(", ")),
        );
        log::once(log::LogLevel::Warn, "hint: sessions = \"world\" in the tool's section of the configuration file");
    }
    let sessions = SESSIONS.lock();
    if let Some(layer) = LAYER.get().filter(|_| sessions.world == WorldModel::Session && sessions.open > 0) {
        let label = &layer.label;
        log::once(
            log::LogLevel::Warn,
            &format!("warning: {label} saw no MPI_Finalize: the program has not ended all of its sessions"),
        );
    }
}
