//! From a stack that is asked for to the chain: layers are planned, loaded and put on top of each other.
//!
//! 1. Plan each layer (`qmpi-plan`): which kind of tool its file is, and where it is loaded.
//! 2. Load QMPI tools, find their names, run their init callbacks, outermost first: then it is known what they intercept. Load
//!    tools of the 2018 prototype, and ask them.
//! 3. From the innermost layer to the outermost: load PMPI tools, whose constructors find everything below them in place.

use std::sync::Arc;

use qmpi_abi::{FnId, named};
use qmpi_dynamic::LinkerLock;
use qmpi_elf::SearchPath;
use qmpi_links::conversion::CallerMode;
use qmpi_loader::{LoadError, Loader, Process};
use qmpi_plan::{Inspector, Layer, LayerKind, Namespaces, OnError, Place, Planned, SessionCalls};
use qmpi_ring::Next;
use qmpi_system::log;

use crate::chain::{Chain, Convention, LoadedLayer};
use crate::process::fortran::Fortran;
use crate::process::{c_library, program_tools};
use crate::qmpi::native::{self, Libraries};
use crate::qmpi::tools::{self, Builder};
use crate::qmpi::{LayerError, ToolId, mpi, of_mpi, registry};
use crate::requested::Requested;
use crate::thesis::{self, ThesisLibrary, VectorBuilder};
use crate::{finalize, present, sessions, switching};

/// A layer that is wanted on this rank.
struct WantedLayer<'a> {
    layer: &'a Layer,
    what: What,
}

/// What it takes to put a layer into the chain.
enum What {
    /// A PMPI tool and where it is loaded.
    Pmpi(Box<Planned>, Place),
    /// The registered name of a QMPI tool.
    Native(String),
    /// A tool of the 2018 prototype.
    Thesis(ThesisLibrary),
    /// It is left out.
    Nothing,
}

/// What only the stack of the process has, and a stack that a tool opens has not.
struct OfProcess {
    fortran: Fortran,
    /// If there is a tool of the 2018 prototype.
    vector: Option<VectorBuilder>,
}

/// Builds the chain. What cannot be set up ends the process, or is left out if the user said so.
pub(crate) fn build(process: &mut Arc<Process>, requested: &Requested, lock: &LinkerLock) -> (Chain, Option<Fortran>) {
    let stack = &requested.stack;
    for skipped in &stack.skipped {
        report(&skipped.label, &LayerError::from(skipped.error.clone()), OnError::Skip);
    }
    ToolId::leave_to_mpi(of_mpi::numbers(process));
    let mut mode = CallerMode::Ignore;
    let files = look_at_files(process, requested);
    let mut wanted = plan(process, requested, files, &mut mode);
    assign_places(&mut wanted, false);
    let first = ToolId::give(wanted.len());
    initialize(&mut wanted, first, stack.on_error);

    // A tool may bring MPI's Fortran library in; where its calls of that go on is settled when a layer is loaded. What is wrong
    // with a tool is said when it is its turn.
    for planned in wanted.iter().filter_map(WantedLayer::pmpi) {
        let _ = qmpi_loader::prepare(process, planned);
    }
    let pmpi = wanted.iter().filter_map(|wanted| wanted.pmpi()?.pmpi());
    if let Err(error) = qmpi_loader::process::sentinels::publish(process, pmpi) {
        log::fatal(&error.to_string(), error.hint().as_deref());
    }
    let is_switched = switching::prepare(process, wanted.iter().map(|wanted| wanted.layer));
    let mut chain = Chain::on_mpi(process, mode, is_switched);
    if wanted.is_empty() {
        chain.observe_initialization();
        return (chain, None);
    }
    let has_native = wanted.iter().any(|wanted| matches!(wanted.what, What::Native(_)));
    let mut builder = has_native.then(|| Builder::new(mpi::numbering()));
    let libraries: Vec<Option<&ThesisLibrary>> = wanted.iter().map(WantedLayer::thesis).collect();
    let vector = libraries.iter().any(Option::is_some).then(|| VectorBuilder::new(&libraries));
    qmpi_loader::exit::order_by_layers();
    observe_finalize(&mut chain, wanted.len());
    sessions::observe(&mut chain);
    if wanted.iter().any(WantedLayer::begins_with_sessions) {
        sessions::prepare(&mut chain, process);
    }
    c_library::list_all_namespaces(lock, process.images());
    let mut of_process = OfProcess { fortran: Fortran::new(wanted.len(), &mut chain), vector };
    put_on_top(&wanted, first, &mut chain, builder.as_mut(), Some(&mut of_process), process, stack.on_error, lock);
    chain.observe_initialization();
    let OfProcess { mut fortran, vector } = of_process;
    fortran.top(&mut chain);
    if let Some(mut builder) = builder {
        builder.below(ToolId::MPI, chain.all_qmpi());
        builder.publish(ToolId::last(), lock);
    }
    if let Some(vector) = &vector {
        vector.below(ToolId::MPI, process.mpi_name(), &mut chain);
    }
    finalize::name_layers(wanted.iter().map(|wanted| wanted.layer.label.clone()).collect());
    (chain, Some(fortran))
}

/// Puts the named stack of the configuration on top of these functions and returns what is on top of it then; `None`, after
/// saying why, if it cannot be set up.
///
/// Layers get numbers of their own. The application's return address is kept on all ways: a layer below may ask for it.
pub(crate) fn open_named(name: &str, below: &[Next], lock: &LinkerLock) -> Option<Box<[Next]>> {
    let mut process = Arc::new(Process::with_mpi(lock)?);
    let reported = |error: &qmpi_plan::PlanError| log::report_error(&error.to_string(), Some(error.hint()));
    let requested = Requested::named(name).inspect_err(reported).ok()?;
    registry::open();
    let files = look_at_files(&mut process, &requested);
    let mut wanted = plan(&process, &requested, files, &mut CallerMode::Keep);
    let first = ToolId::give(wanted.len());
    assign_places(&mut wanted, true);
    c_library::list_all_namespaces(lock, process.images());
    c_library::expect_environments(lock, &requested.stack.layers, process.images());
    let on_error = requested.stack.on_error;
    initialize(&mut wanted, first, on_error);
    let mut chain = Chain::on(below, CallerMode::Keep);
    let mut builder = Builder::new(mpi::numbering());
    put_on_top(&wanted, first, &mut chain, Some(&mut builder), None, &mut process, on_error, lock);
    builder.publish(ToolId::last(), lock);
    c_library::begin_stand_ins(lock, &process);
    qmpi_loader::close_files();
    Some(chain.all_qmpi())
}

/// Loads the layers, the innermost first, and puts them into the chain.
#[expect(clippy::too_many_arguments, reason = "two kinds of stacks, which differ in what they have")]
fn put_on_top(
    wanted: &[WantedLayer<'_>],
    first: ToolId,
    chain: &mut Chain,
    mut builder: Option<&mut Builder>,
    mut of_process: Option<&mut OfProcess>,
    process: &mut Arc<Process>,
    on_error: OnError,
    lock: &LinkerLock,
) {
    let mut loader = Loader::default();
    let outermost_of_world = wanted.iter().position(WantedLayer::begins_with_sessions);
    for (index, wanted) in wanted.iter().enumerate().rev() {
        let tool = ToolId(first.0 + i32::try_from(index).unwrap_or(0));
        let (layer, of_process) = (wanted.layer, of_process.as_deref_mut());
        let vector = of_process.as_ref().and_then(|of_process| of_process.vector.as_ref());
        if let Some(vector) = vector {
            vector.below(tool, process.mpi_name(), chain);
        }
        let loaded = match &wanted.what {
            What::Nothing => Ok(None),
            What::Pmpi(planned, place) => {
                let fortran = of_process.as_ref().map(|of_process| &of_process.fortran);
                load_pmpi(&mut loader, process, (planned, *place), tool, chain, fortran, lock).map(Some)
            }
            What::Native(_) => {
                if let Some(builder) = &mut builder {
                    builder.below(tool, chain.all_qmpi());
                }
                Ok(Some(registered(layer, tool, Convention::Qmpi, tools::functions(tool))))
            }
            What::Thesis(library) => match vector {
                None => Err(LoadError::MainStackOnly { path: layer.path.clone() }),
                Some(vector) => {
                    let convention = Convention::Thesis(vector.vector());
                    let loaded = registered(layer, tool, convention, library.functions.clone());
                    Ok(Some(LoadedLayer { duration: library.duration, ..loaded }))
                }
            },
        };
        let is_of_process = of_process.is_some();
        let mut pushed = None;
        match loaded {
            Ok(None) => {}
            Ok(Some(mut loaded)) => {
                if let Some(of_process) = of_process {
                    of_process.push(index, &mut loaded, layer, process, chain);
                } else if let Some(text) = layer.sees_all_calls("in a stack that a tool opens") {
                    log::warn(&text, None);
                }
                chain.push(&loaded, process);
                present::add(&loaded, layer);
                pushed = Some(loaded);
            }
            Err(error) => report(&layer.label, &error.into(), on_error),
        }
        if is_of_process {
            observe_finalize(chain, index);
            if let Some(layer) = pushed {
                sessions::add(&layer);
                if outermost_of_world == Some(index) {
                    sessions::put_in_front(chain, &layer);
                }
            }
        }
    }
}

impl OfProcess {
    /// Layer `index` is about to be put on top of the chain.
    fn push(&mut self, index: usize, loaded: &mut LoadedLayer, layer: &Layer, process: &Process, chain: &mut Chain) {
        loaded.switch = switching::add(process, loaded.tool, layer);
        if let Some(switch) = loaded.switch {
            switching::behind_switch(&mut loaded.others.wrapped, switch, chain.others.top());
        }
        self.fortran.push(index, loaded, layer.settings.fortran, chain, process);
        let (label, path) = (&layer.label, layer.path.display());
        let (count, ms) = (loaded.entries.len(), loaded.duration.as_secs_f64() * 1e3);
        log::once(log::LogLevel::Info, &format!("{label}: {count} functions, {ms:.1} ms, {path}"));
    }
}

/// Watches the way of `MPI_Finalize` past the topmost link.
fn observe_finalize(chain: &mut Chain, edge: usize) {
    chain.observe(const { named(b"MPI_Finalize") }, |target| finalize::observe(target, edge));
}

/// Runs the init callbacks of native tools. A tool that cannot be set up is left out.
fn initialize(wanted: &mut [WantedLayer<'_>], first: ToolId, on_error: OnError) {
    let names: Vec<Option<&str>> = wanted.iter().map(WantedLayer::native).collect();
    for (place, error) in native::initialize(first, &names) {
        report(&wanted[place].layer.label, &error, on_error);
        wanted[place].what = What::Nothing;
    }
}

/// Decides which PMPI tools get a namespace. `reserve`: one is kept for clones.
fn assign_places(wanted: &mut [WantedLayer<'_>], reserve: bool) {
    let (in_use, of_clones) = (qmpi_loader::namespaces_in_use(), qmpi_loader::clones_have_a_namespace());
    let namespaces = Namespaces::left(in_use, of_clones, reserve);
    let pmpi = wanted.iter_mut().filter_map(|wanted| match &mut wanted.what {
        What::Pmpi(planned, place) => Some((&**planned, place)),
        What::Native(_) | What::Thesis(_) | What::Nothing => None,
    });
    let (tools, places): (Vec<&Planned>, Vec<&mut Place>) = pmpi.unzip();
    for (place, decided) in places.into_iter().zip(namespaces.places(&tools, |tool| tool.needs_namespace())) {
        *place = decided;
    }
}

/// Plans the layers that this rank is to have, and loads QMPI tools and tools of the prototype.
fn plan<'a>(
    process: &Arc<Process>,
    requested: &'a Requested,
    files: Files,
    mode: &mut CallerMode,
) -> Vec<WantedLayer<'a>> {
    // What stands between the application's call and a tool: PMPI tools of the program, MPI's Fortran libraries.
    let mut pmpi_above = program_tools::is_there(process) || Fortran::is_there(process);
    let mut libraries = load_qmpi_tools(requested, &files);
    let mut wanted = Vec::with_capacity(files.len());
    for (index, planned) in files {
        let layer = &requested.stack.layers[index];
        let kind = planned.as_ref().map(|planned| &planned.kind);
        let asks_for_caller = match kind {
            Ok(LayerKind::Qmpi(tool)) => native::asks_for_caller(tool),
            // Linked with the program: whether it asks for the caller is not worth a look.
            Ok(LayerKind::Registered) => registry::is_registered(&layer.name),
            Ok(LayerKind::Pmpi(_) | LayerKind::Thesis(_)) | Err(_) => false,
        };
        if pmpi_above && asks_for_caller {
            *mode = CallerMode::Keep;
        }
        pmpi_above |= matches!(kind, Ok(LayerKind::Pmpi(_) | LayerKind::Thesis(_)));
        let what =
            planned.map_err(LayerError::from).and_then(|planned| what(planned, index, requested, &mut libraries));
        let what = what.unwrap_or_else(|error| {
            report(&layer.label, &error, requested.stack.on_error);
            What::Nothing
        });
        wanted.push(WantedLayer { layer, what });
    }
    wanted
}

fn what(planned: Planned, index: usize, requested: &Requested, libraries: &mut Libraries) -> Result<What, LayerError> {
    let (name, path) = (&planned.layer.name, &planned.layer.path);
    Ok(match &planned.kind {
        LayerKind::Pmpi(_) => What::Pmpi(Box::new(planned), Place::Namespace),
        LayerKind::Qmpi(_) => What::Native(libraries.name_of(name, path)?),
        LayerKind::Thesis(tool) => {
            thesis::provide_general_names(tool)?;
            What::Thesis(ThesisLibrary::open(path)?)
        }
        LayerKind::Registered if registry::is_registered(name) => What::Native(name.clone()),
        LayerKind::Registered => match requested.stack.unresolved.iter().find(|(unresolved, _)| *unresolved == index) {
            Some((_, error)) => return Err(error.clone().into()),
            None => What::Nothing,
        },
    })
}

/// What the files of the layers are that this rank is to have, by their place in the list.
type Files = Vec<(usize, Result<Planned, LoadError>)>;

fn look_at_files(process: &mut Arc<Process>, requested: &Requested) -> Files {
    let layers = &requested.stack.layers;
    let here: Vec<_> = layers.iter().enumerate().filter(|(_, layer)| layer.on_rank(requested.rank)).collect();
    if !here.is_empty() {
        Arc::make_mut(process).open_unwinder();
    }
    let search = SearchPath::from_process();
    let mut inspector = Inspector::new(&search);
    here.into_iter().map(|(index, layer)| (index, qmpi_loader::plan(process, layer, &mut inspector))).collect()
}

/// A library may register names for which there is no file: all are loaded before one is missed. What is wrong with one is said
/// when it is its turn.
fn load_qmpi_tools(requested: &Requested, files: &Files) -> Libraries {
    let mut libraries = Libraries::loaded_early();
    for (index, planned) in files {
        let layer = &requested.stack.layers[*index];
        if matches!(planned, Ok(Planned { kind: LayerKind::Qmpi(_), .. })) {
            let _ = libraries.name_of(&layer.name, &layer.path);
        }
    }
    libraries
}

/// Loads the libraries of QMPI tools before the stack is built: they may register a name that it waits for.
pub(crate) fn load_early(process: &mut Arc<Process>, requested: &Requested) {
    let files = look_at_files(process, requested);
    load_qmpi_tools(requested, &files).keep();
}

fn load_pmpi<'a>(
    loader: &mut Loader<'a>,
    process: &mut Arc<Process>,
    (planned, place): (&'a Planned, Place),
    tool: ToolId,
    chain: &mut Chain,
    fortran: Option<&Fortran>,
    lock: &LinkerLock,
) -> Result<LoadedLayer, LoadError> {
    let label = &planned.layer.label;
    let now = Arc::clone(process);
    let next = |name: &str| fortran?.next(tool, label, name, &now);
    let mpi_fortran = |name: &str| fortran?.of_mpi(label, name, &now);
    let (c, by_name) = (chain.all_pmpi(), chain.all_by_name());
    let links = qmpi_loader::Links {
        c: &c,
        by_name: &by_name,
        wrapped: chain.others.top(),
        fortran: &next,
        mpi: &|id| chain.mpi(id, &now),
        mpi_fortran: &mpi_fortran,
    };
    let loaded = loader.load(process, planned, &links, place, lock)?;
    if fortran.is_some() {
        loaded.instance.set_layer(tool.index());
    }
    Ok(LoadedLayer {
        label: label.clone(),
        tool,
        convention: Convention::Pmpi,
        entries: loaded.entries,
        versions: loaded.versions,
        fortran: loaded.fortran,
        others: loaded.others,
        duration: loaded.duration,
        large_counts: planned.layer.settings.large_counts,
        switch: None,
    })
}

/// What a tool registered or said that it intercepts, as far as the configuration lets it.
fn registered(layer: &Layer, tool: ToolId, convention: Convention, functions: Vec<(FnId, usize)>) -> LoadedLayer {
    let entries = functions.into_iter().filter(|(id, _)| layer.lets(*id)).collect();
    let (label, large_counts) = (layer.label.clone(), layer.settings.large_counts);
    LoadedLayer { label, tool, convention, entries, large_counts, ..LoadedLayer::default() }
}

impl WantedLayer<'_> {
    fn begins_with_sessions(&self) -> bool {
        self.layer.settings.sessions == SessionCalls::World && !matches!(self.what, What::Nothing)
    }

    fn native(&self) -> Option<&str> {
        if let What::Native(name) = &self.what { Some(name) } else { None }
    }

    fn thesis(&self) -> Option<&ThesisLibrary> {
        if let What::Thesis(library) = &self.what { Some(library) } else { None }
    }

    fn pmpi(&self) -> Option<&Planned> {
        if let What::Pmpi(planned, _) = &self.what { Some(planned) } else { None }
    }
}

fn report(label: &str, error: &LayerError, on_error: OnError) {
    match on_error {
        OnError::Abort => log::fatal(&format!("{label}: {error}"), error.hint().as_deref()),
        OnError::Skip => log::warn(&format!("{label} is left out: {error}"), error.hint().as_deref()),
    }
}
