//! From the stack that the environment asks for to the chain: layers are planned, loaded and put on top of each other.
//!
//! 1. Plan each layer (`qmpi-plan`): which kind of tool its file is, and where it is loaded.
//! 2. Load QMPI tools, find their names, run their init callbacks, outermost first: then it is known what they intercept. Load
//!    tools of the 2018 prototype, and ask them.
//! 3. From the innermost layer to the outermost: load PMPI tools, whose constructors find everything below them in place.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_elf::SearchPath;
use qmpi_links::conversion::CallerMode;
use qmpi_loader::wrappers::wrapped::Others;
use qmpi_loader::{LoadError, Loader, Process};
use qmpi_plan::{Inspector, Kind, Namespaces, OnError, Place, Planned};
use qmpi_ring::Next;
use qmpi_system::log;

use crate::chain::{Chain, Convention, Layer, ToolId};
use crate::process::fortran::Fortran;
use crate::process::{environment, program_tools, stand_ins, unwinders};
use crate::qmpi::native::{self, Libraries};
use crate::qmpi::numbering;
use crate::qmpi::tools::{Builder, functions_at_top};
use crate::qmpi::{of_mpi, present};
use crate::report::finalize::{self, Edge};
use crate::requested::Requested;
use crate::{switching, thesis};

/// A layer that is wanted on this rank.
struct Wanted<'a> {
    layer: &'a qmpi_plan::Layer,
    what: What,
}

/// What it takes to put a layer into the chain.
enum What {
    /// A PMPI tool and where it is loaded.
    Pmpi(Planned, Place),
    /// The registered name of a QMPI tool.
    Native(String),
    /// A tool of the 2018 prototype.
    Thesis(thesis::ThesisLibrary),
    /// It is left out.
    Nothing,
}

/// Builds the chain. What cannot be set up ends the process, or is left out if the user said so.
pub(crate) fn build(process: &mut Arc<Process>, requested: &Requested, lock: &LinkerLock) -> (Chain, Option<Fortran>) {
    let stack = &requested.stack;
    for skipped in &stack.skipped {
        report(&skipped.label, &skipped.error.to_string(), skipped.error.hint(), OnError::Skip);
    }
    LAST.begin_behind(of_mpi::numbers(process));
    let mut mode = CallerMode::Ignore;
    let files = look_at_files(process, requested);
    let mut wanted = plan(process, requested, files, &mut mode);
    assign_places(&mut wanted, false);
    let names: Vec<Option<String>> = wanted.iter().map(|wanted| wanted.what.native().map(str::to_owned)).collect();
    initialize(&mut wanted, ToolId::of_layer(0), &names, stack.on_error);

    LAST.take(wanted.len());
    // A tool may bring MPI's Fortran library in; where its calls of that go on is settled when a layer is loaded. What is wrong
    // with a tool is said when it is its turn.
    for planned in wanted.iter().filter_map(|wanted| wanted.what.pmpi()) {
        let _ = qmpi_loader::prepare(process, planned);
    }
    let pmpi = wanted.iter().filter_map(|wanted| wanted.what.pmpi()?.pmpi());
    if let Err(error) = qmpi_loader::process::sentinels::publish(process, pmpi) {
        log::fatal(&error.to_string(), error.hint().as_deref());
    }
    let is_switched = switching::prepare(process, wanted.iter().map(|wanted| wanted.layer));
    let mut chain = Chain::new(process, mode, is_switched);
    if wanted.is_empty() {
        chain.observe_initialization();
        return (chain, None);
    }
    let mut builder = names.iter().any(Option::is_some).then(|| Builder::new(numbering::of_process()));
    let libraries: Vec<Option<&thesis::ThesisLibrary>> = wanted.iter().map(|wanted| wanted.what.thesis()).collect();
    let vector = libraries.iter().any(Option::is_some).then(|| thesis::VectorBuilder::new(&libraries));
    qmpi_loader::exit::order_by_layers();
    chain.observe_finalize(Edge(wanted.len()));
    unwinders::bind(lock, process.images());
    let mut fortran = Fortran::new(wanted.len(), &mut chain);
    let mut loader = Loader::new(lock);
    for (index, wanted) in wanted.iter().enumerate().rev() {
        let tool = ToolId::of_layer(index);
        let label = &wanted.layer.label;
        if let Some(vector) = &vector {
            vector.below(tool, process.mpi_name(), &mut chain);
        }
        let layer = match &wanted.what {
            What::Nothing => Ok(None),
            What::Pmpi(planned, place) => {
                load_pmpi(&mut loader, process, planned, *place, tool, &mut chain, Some(&fortran)).map(Some)
            }
            What::Native(_) => {
                if let Some(builder) = &mut builder {
                    builder.below(tool, &mut chain);
                }
                Ok(Some(registered(wanted.layer, tool, Convention::Qmpi, native::functions(tool), Duration::ZERO)))
            }
            What::Thesis(library) => {
                let convention = Convention::Thesis(vector.as_ref().map_or(0, thesis::VectorBuilder::vector));
                let functions = library.functions().to_vec();
                Ok(Some(registered(wanted.layer, tool, convention, functions, library.duration())))
            }
        };
        match layer {
            Ok(None) => {}
            Ok(Some(mut layer)) => {
                layer.switch = switching::add(process, tool, wanted.layer);
                if let Some(switch) = layer.switch {
                    switching::behind_switch(&mut layer.others.wrapped, switch, chain.others.top());
                }
                fortran.below(index, &layer, &mut chain);
                fortran.push(index, &layer, process);
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
        chain.observe_finalize(Edge(index));
    }
    chain.observe_initialization();
    fortran.top(&mut chain);
    if let Some(mut builder) = builder {
        builder.below(ToolId::MPI, &mut chain);
        builder.publish(LAST.get(), lock);
    }
    if let Some(vector) = &vector {
        vector.below(ToolId::MPI, process.mpi_name(), &mut chain);
    }
    finalize::name_layers(wanted.iter().map(|wanted| wanted.layer.label.clone()).collect());
    (chain, Some(fortran))
}

/// Runs the init callbacks of native tools. A tool that cannot be set up is left out.
fn initialize(wanted: &mut [Wanted<'_>], first: ToolId, names: &[Option<String>], on_error: OnError) {
    for (place, error) in native::initialize(first, names) {
        let wanted = &mut wanted[place];
        report(&wanted.layer.label, &error.to_string(), error.hint(), on_error);
        wanted.what = What::Nothing;
    }
}

/// Decides which PMPI tools get a namespace. `reserve`: one is kept for clones.
fn assign_places(wanted: &mut [Wanted<'_>], reserve: bool) {
    let audit = std::env::var("LD_AUDIT").ok();
    let at_start = Namespaces::at_start(audit.as_deref());
    let namespaces = Namespaces {
        free: at_start.free.saturating_sub(qmpi_loader::namespaces_in_use()),
        of_clones: qmpi_loader::clones_have_a_namespace(),
        reserve,
    };
    let pmpi = wanted.iter_mut().filter_map(|wanted| match &mut wanted.what {
        What::Pmpi(planned, place) => Some((&*planned, place)),
        What::Native(_) | What::Thesis(_) | What::Nothing => None,
    });
    let (tools, places): (Vec<&Planned>, Vec<&mut Place>) = pmpi.unzip();
    for (place, decided) in places.into_iter().zip(namespaces.places(&tools, |tool| tool.needs_namespace())) {
        *place = decided;
    }
}

/// Puts the named stack of the configuration on top of these functions and returns what is on top of it then; `None`, after
/// saying why, if it cannot be set up.
///
/// Layers get numbers of their own. The application's return address is kept on all ways: a layer below may ask for it.
pub(crate) fn open_named(name: &str, below: &[Next], lock: &LinkerLock) -> Option<Box<[Next]>> {
    let mut process = Arc::new(Process::with_mpi(lock)?);
    let requested = match Requested::named(name) {
        Ok(requested) => requested,
        Err(error) => {
            log::report_error(&error.to_string(), error.hint().as_deref());
            return None;
        }
    };
    native::accept_names();
    let files = look_at_files(&mut process, &requested);
    let mut wanted = plan(&process, &requested, files, &mut CallerMode::Keep);
    let first = LAST.take(wanted.len());
    let names: Vec<Option<String>> = wanted.iter().map(|wanted| wanted.what.native().map(str::to_owned)).collect();
    assign_places(&mut wanted, true);
    unwinders::bind(lock, process.images());
    environment::expect(lock, &requested.stack.layers, process.images());
    initialize(&mut wanted, first, &names, requested.stack.on_error);
    let mut chain = Chain::on(below, CallerMode::Keep);
    let mut builder = Builder::new(numbering::of_process());
    let mut loader = Loader::new(lock);
    for (tool, wanted) in (first.0..).map(ToolId).zip(&wanted).collect::<Vec<_>>().into_iter().rev() {
        let layer = match &wanted.what {
            What::Nothing => continue,
            What::Pmpi(planned, place) => load_pmpi(&mut loader, &mut process, planned, *place, tool, &mut chain, None),
            What::Native(_) => {
                builder.below(tool, &mut chain);
                Ok(registered(wanted.layer, tool, Convention::Qmpi, native::functions(tool), Duration::ZERO))
            }
            What::Thesis(_) => Err(LoadError::MainStackOnly { path: wanted.layer.path.clone() }),
        };
        match layer {
            Ok(layer) => {
                if let Some(text) = wanted.layer.sees_all_calls("in a stack that a tool opens") {
                    log::warn(&text, None);
                }
                chain.push(&layer);
                introduce(&layer, wanted.layer);
            }
            Err(error) => report(&wanted.layer.label, &error.to_string(), error.hint(), requested.stack.on_error),
        }
    }
    builder.publish(LAST.get(), lock);
    stand_ins::begin(lock, &process);
    qmpi_loader::close_files();
    Some(functions_at_top(&mut chain))
}

/// The highest number that a layer has.
static LAST: Numbers = Numbers(AtomicI32::new(0));

/// Gives numbers to layers.
struct Numbers(AtomicI32);

impl Numbers {
    /// Leaves so many to the MPI library's own tools.
    fn begin_behind(&self, count: i32) {
        ToolId::leave_to_mpi(count);
        self.0.store(count, Ordering::Relaxed);
    }

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
fn introduce(layer: &Layer, asked: &qmpi_plan::Layer) {
    let path = if asked.path.is_absolute() { asked.path.to_string_lossy() } else { "".into() };
    present::add(layer.tool, layer.convention, &layer.label, &asked.name, &path);
}

/// Plans the layers that this rank is to have, and loads QMPI tools and tools of the prototype.
fn plan<'a>(process: &Arc<Process>, requested: &'a Requested, files: Files, mode: &mut CallerMode) -> Vec<Wanted<'a>> {
    let stack = &requested.stack;
    // What stands between the application's call and a tool: PMPI tools of the program, MPI's Fortran libraries.
    let mut pmpi_above = program_tools::is_there(process) || Fortran::is_there(process);
    let mut libraries = load_qmpi_tools(requested, &files);
    let mut wanted = Vec::with_capacity(files.len());
    for (index, planned) in files {
        let layer = &stack.layers[index];
        let fail = |reason: &str, hint: Option<String>| {
            report(&layer.label, reason, hint, stack.on_error);
            What::Nothing
        };
        let what = match planned {
            Err(error) => fail(&error.to_string(), error.hint()),
            Ok(planned) => match &planned.kind {
                Kind::Pmpi(_) => {
                    pmpi_above = true;
                    What::Pmpi(planned, Place::Namespace)
                }
                Kind::Qmpi(tool) => {
                    keep_if(pmpi_above && native::asks_for_caller(tool), mode);
                    match libraries.name_of(&layer.name, &layer.path) {
                        Ok(name) => What::Native(name),
                        Err(error) => fail(&error.to_string(), error.hint()),
                    }
                }
                Kind::Thesis(tool) => {
                    pmpi_above = true;
                    match thesis::provide_general_names(tool) {
                        Err(error) => fail(&error.to_string(), error.hint()),
                        Ok(()) => match thesis::ThesisLibrary::open(&layer.path) {
                            Err(error) => fail(&error.to_string(), error.hint()),
                            Ok(library) => What::Thesis(library),
                        },
                    }
                }
                Kind::Registered if native::is_registered(&layer.name) => {
                    // Linked with the program: whether it asks for the caller is not worth a look.
                    keep_if(pmpi_above, mode);
                    What::Native(layer.name.clone())
                }
                Kind::Registered => match stack.unresolved.iter().find(|(unresolved, _)| *unresolved == index) {
                    Some((_, error)) => fail(&error.to_string(), error.hint()),
                    None => What::Nothing,
                },
            },
        };
        wanted.push(Wanted { layer, what });
    }
    wanted
}

/// What the files of the layers are that this rank is to have, by their place in the list.
pub(crate) type Files = Vec<(usize, Result<Planned, LoadError>)>;

/// Looks at the files.
pub(crate) fn look_at_files(process: &mut Arc<Process>, requested: &Requested) -> Files {
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
        if matches!(planned, Ok(Planned { kind: Kind::Qmpi(_), .. })) {
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

fn keep_if(asked: bool, mode: &mut CallerMode) {
    if asked {
        *mode = CallerMode::Keep;
    }
}

fn load_pmpi<'a>(
    loader: &mut Loader<'_, 'a>,
    process: &mut Arc<Process>,
    planned: &'a Planned,
    place: Place,
    tool: ToolId,
    chain: &mut Chain,
    fortran: Option<&Fortran>,
) -> Result<Layer, LoadError> {
    let layer = &planned.layer;
    let now = Arc::clone(process);
    let next = |name: &str| fortran?.next(tool, &layer.label, name, &now);
    let of_mpi = |name: &str| fortran?.of_mpi(&layer.label, name, &now);
    let (c, by_name) = (chain.all_pmpi(), chain.all_by_name());
    let mpi = qmpi_loader::OfMpi { c: &|id| chain.mpi(id, &now), fortran: &of_mpi };
    let wrapped = chain.others.top();
    let links = qmpi_loader::Links { c: &c, by_name: &by_name, wrapped, fortran: &next, mpi };
    let loaded = loader.load(process, planned, &links, place)?;
    if fortran.is_some() {
        loaded.instance.set_layer(tool.index());
    }
    Ok(Layer {
        label: layer.label.clone(),
        tool,
        convention: Convention::Pmpi,
        entries: loaded.entries,
        versions: loaded.versions,
        fortran: loaded.fortran,
        others: loaded.others,
        switch: None,
        duration: loaded.duration,
    })
}

/// What a tool registered or said that it intercepts, as far as the configuration lets it.
fn registered(
    layer: &qmpi_plan::Layer,
    tool: ToolId,
    convention: Convention,
    functions: Vec<(FnId, usize)>,
    duration: Duration,
) -> Layer {
    Layer {
        label: layer.label.clone(),
        tool,
        convention,
        entries: functions.into_iter().filter(|(id, _)| layer.lets(*id)).collect(),
        versions: Vec::new(),
        fortran: Vec::new(),
        others: Others::default(),
        switch: None,
        duration,
    }
}

impl What {
    fn native(&self) -> Option<&str> {
        match self {
            What::Native(name) => Some(name),
            What::Pmpi(..) | What::Thesis(_) | What::Nothing => None,
        }
    }

    fn thesis(&self) -> Option<&thesis::ThesisLibrary> {
        match self {
            What::Thesis(library) => Some(library),
            What::Pmpi(..) | What::Native(_) | What::Nothing => None,
        }
    }

    fn pmpi(&self) -> Option<&Planned> {
        match self {
            What::Pmpi(planned, _) => Some(planned),
            What::Native(_) | What::Thesis(_) | What::Nothing => None,
        }
    }
}

fn report(label: &str, reason: &str, hint: Option<String>, on_error: OnError) {
    match on_error {
        OnError::Abort => log::fatal(&format!("{label}: {reason}"), hint.as_deref()),
        OnError::Skip => log::warn(&format!("{label} is left out: {reason}"), hint.as_deref()),
    }
}
