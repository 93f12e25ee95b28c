//! From the stack that the environment asks for to the chain: layers are looked at, loaded and put on top of each other.
//!
//! 1. Look at each file: which kind of tool it is.
//! 2. Load native QMPI tools, find their names, run their init callbacks, outermost first: then it is known what they
//!    intercept. Load tools of the thesis's dialect, and ask them.
//! 3. From the innermost layer to the outermost: load PMPI tools, whose constructors find everything below them in place.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use qmpi_abi::FnId;
use qmpi_elf::{ElfFile, SearchPath, Tool, ToolKind};
use qmpi_loader::conversion::CallerMode;
use qmpi_loader::{LoadError, Place, Process, log};
use qmpi_ring::{Next, Writer};
use qmpi_stack::{OnError, PassedOver, Request, Stack};

use crate::chain::{Chain, Convention, Layer, ToolId};
use crate::finalize::{self, Station};
use crate::fortran::Fortran;
use crate::qmpi::native::{self, Libraries};
use crate::qmpi::numbering;
use crate::qmpi::present;
use crate::qmpi::tools::{Builder, functions_at_top};
use crate::{program_tools, thesis, unwinders};

/// What the environment asks for.
pub(crate) struct Requested {
    stack: Stack,
    /// This process's rank, as far as the launcher told it.
    pub(crate) rank: Option<u32>,
}

impl Requested {
    /// Reads the environment. What is wrong with it ends the process.
    pub(crate) fn from_env() -> Requested {
        let get = |name: &str| std::env::var_os(name);
        let rank = qmpi_stack::rank_from_env(&get);
        log::set_speaker(rank.unwrap_or(0) == 0);
        let resolved = Request::from_env(&get).and_then(|request| {
            log::set_level(request.log);
            with_registered_names(request).resolve(&in_linker_path)
        });
        match resolved {
            Ok(stack) => {
                say_what_is_passed_over(&stack);
                Requested { stack, rank }
            }
            Err(error) => log::fatal(&error.to_string(), error.hint().as_deref()),
        }
    }

    /// The same for a named stack of the configuration file.
    fn named(name: &str) -> Result<Requested, qmpi_stack::Error> {
        let get = |name: &str| std::env::var_os(name);
        let request = with_registered_names(Request::from_env(&get)?);
        let stack = request.resolve_named(name, &in_linker_path)?;
        Ok(Requested { stack, rank: qmpi_stack::rank_from_env(&get) })
    }

    /// Is there anything in it?
    pub(crate) fn has_layers(&self) -> bool {
        !self.stack.layers.is_empty()
    }

    /// Is there a name that neither a file has nor a tool has registered so far?
    pub(crate) fn waits_for_names(&self) -> bool {
        let mut names = self.stack.unresolved.iter().filter_map(|(index, _)| self.stack.layers.get(*index));
        names.any(|layer| !native::is_registered(&layer.name))
    }
}

/// `TOOLS` may be meant for others: then it is only said to those who want to know.
fn say_what_is_passed_over(stack: &Stack) {
    match &stack.passed_over {
        Some(passed_over) if passed_over.is_meant => log::warn(&passed_over.to_string(), Some(PassedOver::HINT)),
        Some(passed_over) => log::once(log::LogLevel::Info, &passed_over.to_string()),
        None => {}
    }
}

/// A name that a tool has registered stands for it, whatever files there are; others may still be registered.
fn with_registered_names(request: Request) -> Request {
    Request { keep_names: true, registered: native::registered_names(), ..request }
}

fn in_linker_path(name: &str) -> Option<PathBuf> {
    let program = ElfFile::open_program(&std::env::current_exe().ok()?).ok()?;
    SearchPath::from_process().find(name, &program, &[])
}

/// A layer that is wanted on this rank.
struct Wanted<'a> {
    layer: &'a qmpi_stack::Layer,
    kind: Kind,
    /// Of a PMPI tool.
    place: Place,
}

enum Kind {
    Pmpi(Rc<Tool>),
    /// The registered name.
    Native(String),
    Thesis(thesis::Library),
    /// It is left out.
    Nothing,
}

/// Builds the chain. What cannot be set up ends the process, or is left out if the user said so.
pub(crate) fn build(process: &mut Arc<Process>, requested: &Requested, writer: &Writer) -> (Chain, Option<Fortran>) {
    let stack = &requested.stack;
    for skipped in &stack.skipped {
        report(&skipped.label, &skipped.error.to_string(), skipped.error.hint(), OnError::Skip);
    }
    let mut mode = CallerMode::Ignore;
    let mut wanted = look(process, requested, &mut mode);
    assign_places(&mut wanted, Reserve::Nothing);
    let names: Vec<Option<String>> = wanted.iter().map(|wanted| wanted.kind.native().map(str::to_owned)).collect();
    initialize(&mut wanted, ToolId::of_layer(0), &names, stack.on_error);

    LAST.take(wanted.len());
    // A tool may bring MPI's Fortran library in; where its calls of that go on is settled when a layer is loaded. What is wrong
    // with a tool is said when it is its turn.
    for wanted in &wanted {
        if let Kind::Pmpi(tool) = &wanted.kind {
            let _ = qmpi_loader::admit(process, wanted.layer, tool);
        }
    }
    let pmpi = wanted.iter().filter_map(|wanted| match &wanted.kind {
        Kind::Pmpi(tool) => Some(&**tool),
        Kind::Native(_) | Kind::Thesis(_) | Kind::Nothing => None,
    });
    if let Err(error) = qmpi_loader::sentinels::publish(process, pmpi) {
        log::fatal(&error.to_string(), error.hint().as_deref());
    }
    let mut chain = Chain::new(process, mode);
    if wanted.is_empty() {
        return (chain, None);
    }
    let mut builder = names.iter().any(Option::is_some).then(|| Builder::new(numbering::of_process()));
    let libraries: Vec<Option<&thesis::Library>> = wanted.iter().map(|wanted| wanted.kind.thesis()).collect();
    let vector = libraries.iter().any(Option::is_some).then(|| thesis::Builder::new(&libraries));
    chain.watch_finalize(Station(wanted.len()));
    unwinders::bind(process.images());
    let mut fortran = Fortran::new(wanted.len(), &mut chain);
    for (index, wanted) in wanted.iter().enumerate().rev() {
        let tool = ToolId::of_layer(index);
        let label = &wanted.layer.label;
        if let Some(vector) = &vector {
            vector.below(tool, process.mpi_name(), &mut chain);
        }
        let layer = match &wanted.kind {
            Kind::Nothing => Ok(None),
            Kind::Pmpi(file) => load_pmpi(process, wanted, file, tool, &mut chain, Some(&fortran), writer).map(Some),
            Kind::Native(_) => {
                if let Some(builder) = &mut builder {
                    builder.below(tool, &mut chain);
                }
                let functions = native::functions(tool);
                registered(wanted.layer, tool, Convention::Qmpi, functions, Duration::ZERO).map(Some)
            }
            Kind::Thesis(library) => {
                let convention = Convention::Thesis(vector.as_ref().map_or(0, thesis::Builder::vector));
                registered(wanted.layer, tool, convention, library.functions().to_vec(), library.duration()).map(Some)
            }
        };
        match layer {
            Ok(None) => {}
            Ok(Some(layer)) => {
                fortran.below(index, &layer, &mut chain);
                fortran.push(index, &layer);
                let ms = layer.duration.as_secs_f64() * 1e3;
                let path = wanted.layer.path.display();
                log::once(
                    log::LogLevel::Info,
                    &format!("{label}: {} functions, {ms:.1} ms, {path}", layer.entries.len()),
                );
                chain.push(&layer);
                introduce(&layer, wanted.layer);
            }
            Err(error) => report(label, &error.to_string(), error.hint(), stack.on_error),
        }
        chain.watch_finalize(Station(index));
    }
    fortran.top(&mut chain);
    if let Some(mut builder) = builder {
        builder.below(ToolId::MPI, &mut chain);
        builder.publish(LAST.get(), writer);
    }
    if let Some(vector) = &vector {
        vector.below(ToolId::MPI, process.mpi_name(), &mut chain);
    }
    finalize::name_layers(wanted.iter().map(|wanted| wanted.layer.label.clone()).collect());
    (chain, Some(fortran))
}

/// Runs the init callbacks of native tools. Who cannot be set up is left out.
fn initialize(wanted: &mut [Wanted<'_>], first: ToolId, names: &[Option<String>], on_error: OnError) {
    for (place, error) in native::initialize(first, names) {
        let wanted = &mut wanted[place];
        report(&wanted.layer.label, &error.to_string(), error.hint(), on_error);
        wanted.kind = Kind::Nothing;
    }
}

/// Decides which PMPI tools get a namespace: all of them, as long as there are enough. Otherwise those that cannot do
/// without, and as many others as there is room for, from the outermost; the rest are clones.
fn assign_places(wanted: &mut [Wanted<'_>], reserve: Reserve) {
    let pmpi: Vec<(usize, bool)> = (wanted.iter().enumerate())
        .filter_map(|(index, wanted)| match &wanted.kind {
            Kind::Pmpi(tool) => Some((index, tool.clone_obstacle().is_some())),
            Kind::Native(_) | Kind::Thesis(_) | Kind::Nothing => None,
        })
        .collect();
    let left = namespaces_left();
    let of_clones = usize::from(!qmpi_loader::clones_have_a_namespace());
    let reserved = if reserve == Reserve::ForLater { of_clones } else { 0 };
    if pmpi.len() + reserved <= left {
        return;
    }
    // One is for the clones.
    let mut room =
        left.saturating_sub(of_clones).saturating_sub(pmpi.iter().filter(|(_, needs_own)| *needs_own).count());
    for (index, needs_own) in pmpi {
        if needs_own {
            continue;
        }
        if room > 0 {
            room -= 1;
        } else {
            wanted[index].place = Place::Clone;
        }
    }
}

/// glibc's `DL_NNS` is 16, of which the program has one; each auditing library has another.
fn namespaces_left() -> usize {
    let auditors = std::env::var("LD_AUDIT").map_or(0, |list| list.split(':').filter(|name| !name.is_empty()).count());
    15_usize.saturating_sub(auditors).saturating_sub(qmpi_loader::namespaces_in_use())
}

/// Whether a namespace is kept for clones that are not needed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reserve {
    /// The main stack takes all if it has a use for them.
    Nothing,
    /// Named stacks are opened one after the other.
    ForLater,
}

/// Puts the named stack of the configuration on top of these functions and returns what is on top of it then; `None`, after
/// saying why, if it cannot be set up.
///
/// Layers get numbers of their own. The application's return address is kept on all ways: who is below may ask for it.
pub(crate) fn open_named(name: &str, below: &[Next], writer: &Writer) -> Option<Box<[Next]>> {
    let mut process = Arc::new(Process::with_mpi()?);
    let requested = match Requested::named(name) {
        Ok(requested) => requested,
        Err(error) => {
            log::report_error(&error.to_string(), error.hint().as_deref());
            return None;
        }
    };
    native::accept_names();
    let mut wanted = look(&mut process, &requested, &mut CallerMode::Keep);
    let first = LAST.take(wanted.len());
    let names: Vec<Option<String>> = wanted.iter().map(|wanted| wanted.kind.native().map(str::to_owned)).collect();
    assign_places(&mut wanted, Reserve::ForLater);
    unwinders::bind(process.images());
    initialize(&mut wanted, first, &names, requested.stack.on_error);
    let mut chain = Chain::on(below, CallerMode::Keep);
    let mut builder = Builder::new(numbering::of_process());
    for (tool, wanted) in (first.0..).map(ToolId).zip(&wanted).collect::<Vec<_>>().into_iter().rev() {
        let layer = match &wanted.kind {
            Kind::Nothing => continue,
            Kind::Pmpi(file) => load_pmpi(&mut process, wanted, file, tool, &mut chain, None, writer),
            Kind::Native(_) => {
                builder.below(tool, &mut chain);
                registered(wanted.layer, tool, Convention::Qmpi, native::functions(tool), Duration::ZERO)
            }
            Kind::Thesis(_) => Err(LoadError::NotATool {
                path: wanted.layer.path.clone(),
                reason: "tools of the 2018 prototype have their place in the main stack only".into(),
            }),
        };
        match layer {
            Ok(layer) => {
                chain.push(&layer);
                introduce(&layer, wanted.layer);
            }
            Err(error) => report(&wanted.layer.label, &error.to_string(), error.hint(), requested.stack.on_error),
        }
    }
    builder.publish(LAST.get(), writer);
    qmpi_loader::close_files();
    Some(functions_at_top(&mut chain))
}

/// The highest number that a layer has.
static LAST: Numbers = Numbers(AtomicI32::new(0));

/// Gives numbers to layers.
struct Numbers(AtomicI32);

impl Numbers {
    /// Takes so many; returns the first.
    fn take(&self, count: usize) -> ToolId {
        let count = i32::try_from(count).unwrap_or(i32::MAX);
        ToolId(self.0.fetch_add(count, Ordering::Relaxed) + 1)
    }

    fn get(&self) -> ToolId {
        ToolId(self.0.load(Ordering::Relaxed))
    }
}

/// Lets tools know that the layer is there.
fn introduce(layer: &Layer, asked: &qmpi_stack::Layer) {
    let path = if asked.path.is_absolute() { asked.path.to_string_lossy() } else { "".into() };
    present::add(layer.tool, layer.convention, &layer.label, &asked.name, &path);
}

/// Looks at the files of the layers that this rank is to have, and loads native tools.
fn look<'a>(process: &mut Arc<Process>, requested: &'a Requested, mode: &mut CallerMode) -> Vec<Wanted<'a>> {
    let stack = &requested.stack;
    let mut files: HashMap<PathBuf, Rc<Tool>> = HashMap::new();
    let mut libraries = Libraries::default();
    // What stands between the application's call and a tool: PMPI tools of the program, MPI's Fortran libraries.
    let mut pmpi_above = program_tools::is_there(process) || Fortran::is_there(process);
    let here: Vec<(usize, &qmpi_stack::Layer)> =
        stack.layers.iter().enumerate().filter(|(_, layer)| layer.on_rank(requested.rank)).collect();
    if !here.is_empty() {
        Arc::make_mut(process).open_unwinder();
    }
    // A library may register names for which there is no file: all are loaded before one is missed.
    for (_, layer) in
        here.iter().filter(|(index, _)| stack.unresolved.iter().all(|(unresolved, _)| unresolved != index))
    {
        if inspected(process, layer, &mut files).is_ok_and(|tool| tool.kind == ToolKind::Qmpi) {
            // What is wrong with it is said when it is its turn.
            let _ = libraries.name_of(&layer.name, &layer.path);
        }
    }
    here.into_iter()
        .map(|(index, layer)| {
            let fail = |reason: &str, hint: Option<String>| {
                report(&layer.label, reason, hint, stack.on_error);
                Kind::Nothing
            };
            let unresolved = stack.unresolved.iter().find(|(unresolved, _)| *unresolved == index);
            let kind = match unresolved {
                Some(_) if native::is_registered(&layer.name) => {
                    // Linked with the program: whether it asks for the caller is not worth a look.
                    keep_if(pmpi_above, mode);
                    Kind::Native(layer.name.clone())
                }
                Some((_, error)) => fail(&error.to_string(), error.hint()),
                None => match inspected(process, layer, &mut files) {
                    Err(error) => fail(&error.to_string(), error.hint()),
                    Ok(tool) => match &tool.kind {
                        ToolKind::Pmpi => {
                            pmpi_above = true;
                            Kind::Pmpi(tool)
                        }
                        ToolKind::Qmpi => {
                            keep_if(pmpi_above && native::asks_for_caller(&tool), mode);
                            match libraries.name_of(&layer.name, &layer.path) {
                                Ok(name) => Kind::Native(name),
                                Err(error) => fail(&error.to_string(), error.hint()),
                            }
                        }
                        ToolKind::Thesis => {
                            pmpi_above = true;
                            match thesis_library(process, layer, &tool) {
                                Ok(library) => Kind::Thesis(library),
                                Err((reason, hint)) => fail(&reason, hint),
                            }
                        }
                        other => {
                            let error = LoadError::NotATool { path: layer.path.clone(), reason: not_a_tool(other) };
                            fail(&error.to_string(), error.hint())
                        }
                    },
                },
            };
            Wanted { layer, kind, place: Place::Namespace }
        })
        .collect()
}

fn keep_if(asked: bool, mode: &mut CallerMode) {
    if asked {
        *mode = CallerMode::Keep;
    }
}

fn not_a_tool(kind: &ToolKind) -> String {
    match kind {
        ToolKind::MpiLibrary => "it is an MPI library, not a tool".into(),
        ToolKind::None { reason } => format!("it is not an MPI tool: {reason}"),
        ToolKind::Pmpi | ToolKind::Qmpi | ToolKind::Thesis => "it is a tool".into(),
    }
}

/// The facts about a layer's file; looked up once where it stands in the stack several times.
fn inspected(
    process: &mut Arc<Process>,
    layer: &qmpi_stack::Layer,
    files: &mut HashMap<PathBuf, Rc<Tool>>,
) -> Result<Rc<Tool>, LoadError> {
    if let (Some(tool), true) = (files.get(&layer.path), layer.share.is_empty()) {
        return Ok(Rc::clone(tool));
    }
    let tool = Rc::new(qmpi_loader::inspect(process, layer)?);
    files.insert(layer.path.clone(), Rc::clone(&tool));
    Ok(tool)
}

fn load_pmpi(
    process: &mut Arc<Process>,
    wanted: &Wanted<'_>,
    file: &Tool,
    tool: ToolId,
    chain: &mut Chain,
    fortran: Option<&Fortran>,
    writer: &Writer,
) -> Result<Layer, LoadError> {
    let layer = wanted.layer;
    let now = Arc::clone(process);
    let next = |name: &str| fortran?.next(tool, &layer.label, name, &now);
    let links = qmpi_loader::Links { c: &chain.all_pmpi(), fortran: &next };
    let loaded = qmpi_loader::load(process, layer, file, &links, wanted.place, writer)?;
    Ok(Layer {
        label: layer.label.clone(),
        tool,
        convention: Convention::Pmpi,
        entries: loaded.entries,
        fortran: loaded.fortran,
        duration: loaded.duration,
    })
}

/// Opens a tool of the thesis's dialect. If that cannot be, the reason and a hint.
fn thesis_library(
    process: &Process,
    layer: &qmpi_stack::Layer,
    tool: &Tool,
) -> Result<thesis::Library, (String, Option<String>)> {
    if let (Some(of_tool), Some(of_process)) = (tool.abi, process.family())
        && of_tool != of_process
    {
        // Opening it would bring a second MPI into the program.
        let (path, process) = (layer.path.clone(), format!("{} ({})", of_process.name(), process.mpi_name()));
        let error = LoadError::OtherMpi { path, tool: of_tool.name().into(), process };
        return Err((error.to_string(), error.hint()));
    }
    thesis::provide_general_names(tool).map_err(|error| (error.to_string(), error.hint()))?;
    thesis::Library::open(&layer.path).map_err(|error| (error.to_string(), error.hint()))
}

/// What a tool registered or said that it intercepts, as far as the configuration lets it.
fn registered(
    layer: &qmpi_stack::Layer,
    tool: ToolId,
    convention: Convention,
    functions: Vec<(FnId, usize)>,
    duration: Duration,
) -> Result<Layer, LoadError> {
    let wanted = qmpi_loader::wanted(layer)?;
    let is_wanted = |id: &FnId| {
        wanted.as_ref().is_none_or(|wanted| wanted.contains(id)) && (layer.pcontrol || id.name() != "MPI_Pcontrol")
    };
    Ok(Layer {
        label: layer.label.clone(),
        tool,
        convention,
        entries: functions.into_iter().filter(|(id, _)| is_wanted(id)).collect(),
        fortran: Vec::new(),
        duration,
    })
}

impl Kind {
    fn native(&self) -> Option<&str> {
        match self {
            Kind::Native(name) => Some(name),
            Kind::Pmpi(_) | Kind::Thesis(_) | Kind::Nothing => None,
        }
    }

    fn thesis(&self) -> Option<&thesis::Library> {
        match self {
            Kind::Thesis(library) => Some(library),
            Kind::Pmpi(_) | Kind::Native(_) | Kind::Nothing => None,
        }
    }
}

fn report(label: &str, reason: &str, hint: Option<String>, on_error: OnError) {
    match on_error {
        OnError::Abort => log::fatal(&format!("{label}: {reason}"), hint.as_deref()),
        OnError::Skip => log::warn(&format!("{label} is left out: {reason}"), hint.as_deref()),
    }
}
