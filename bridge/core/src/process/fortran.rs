//! Fortran calls: which layer sees them first, and where the chain goes on.
//!
//! The application calls `mpi_send_`. The first layer that intercepts the function gets the call: its Fortran wrapper, if it
//! has one (its call sites are then the application's), else its C wrapper, through MPI's Fortran library, which converts
//! handles and sentinels and calls C. When a Fortran wrapper goes on with `pmpi_send_`, the chain goes on below its layer,
//! again in Fortran if the next layer has a wrapper, else in C. No layer sees a call twice.
//!
//! A tool that is linked or preloaded keeps what it gets without us: its Fortran wrappers the application's calls, its C
//! wrappers those that MPI's Fortran library makes by their names, unless it has a Fortran wrapper for the function.
//!
//! Libraries that are opened later are dealt with when the program looks something up in them (`start.rs`).
//!
//! A layer is *level* k if k layers are above it; "below k layers" is where calls go that have passed those.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

use qmpi_abi::{Binding, FnId, Handles, INITIALIZATION};
use qmpi_dynamic::LinkerLock;
use qmpi_links::conversion::{self, CallerMode};
use qmpi_links::switch::{Caller, Switch};
use qmpi_links::{fortran, missing};
use qmpi_loader::Process;
use qmpi_loader::image::listed::Listed;
use qmpi_loader::image::rebind::{self, Reference};
use qmpi_loader::image::{Image, SymbolKind};
use qmpi_plan::FortranCalls;
use qmpi_system::Locked;

use crate::chain::{self, Chain, LoadedLayer};
use crate::process::{program_tools, rebound};
use crate::qmpi::ToolId;
use crate::ring::is_entry;

/// What a layer intercepts.
#[derive(Default)]
struct FortranLayer {
    c: HashSet<FnId>,
    /// Fortran wrappers by symbol name.
    wrappers: HashMap<String, usize>,
}

/// Fortran's side of the chain, built with it from the innermost layer outwards.
pub(crate) struct Fortran {
    layers: Vec<FortranLayer>,
    /// The C links below so many layers, where Fortran calls go on in C. Elsewhere there are none: to have them takes a stub for each
    /// function of each layer.
    below: Vec<Option<Box<[usize]>>>,
    /// Of C functions whose first layers see no Fortran calls, the links past these.
    past: HashMap<FnId, usize>,
    /// The tools that call MPI's Fortran library.
    callers: Locked<BTreeSet<ToolId>>,
    mode: CallerMode,
    program: OfProgram,
    /// Do the program's own calls of `pmpi_f_` enter the chain?
    profiling_enters: bool,
}

/// What tools of the program have that were there before us.
#[derive(Default)]
struct OfProgram {
    /// Their C wrappers.
    c: HashMap<FnId, usize>,
    /// Their Fortran wrappers, by name.
    wrappers: HashSet<CString>,
    /// The functions of these.
    wrapped: HashSet<FnId>,
}

/// Of the stack that the environment asks for, for libraries that are opened later.
static OF_PROCESS: OnceLock<Fortran> = OnceLock::new();

impl Fortran {
    /// For so many layers, above `chain`, which is the MPI library alone.
    pub(crate) fn new(layers: usize, chain: &mut Chain) -> Fortran {
        let mut below = vec![None; layers + 1];
        below[layers] = Some(chain.all_pmpi());
        let layers = (0..layers).map(|_| FortranLayer::default()).collect();
        let (callers, program) = (Locked::default(), OfProgram::default());
        let (past, mode) = (HashMap::new(), chain.mode());
        Fortran { layers, below, past, callers, mode, program, profiling_enters: false }
    }

    /// Lets the program's own calls of `pmpi_f_` enter the chain (`base.rs`).
    pub(crate) fn let_profiling_in(&mut self) {
        self.profiling_enters = true;
    }

    /// Is there one of MPI's Fortran libraries in the process?
    pub(crate) fn is_there(process: &Process) -> bool {
        process.interface().any(is_fortran)
    }

    /// Adds layer `index`, which is about to be pushed on `chain`. The C links below it are kept if it has anything to do with Fortran.
    /// `calls`: what its C functions see of Fortran calls.
    pub(crate) fn push(
        &mut self,
        index: usize,
        layer: &LoadedLayer,
        calls: FortranCalls,
        chain: &mut Chain,
        process: &Process,
    ) {
        if !layer.fortran.is_empty() || self.callers.lock().contains(&layer.tool) {
            self.below[index + 1] = Some(self.c_links(chain));
        }
        let functions = layer.entries.iter().flat_map(|(id, _)| [Some(*id), id.with_large_counts()]).flatten();
        match calls {
            FortranCalls::Seen => functions.for_each(|id| _ = self.past.remove(&id)),
            FortranCalls::Past => functions.for_each(|id| _ = self.past.entry(id).or_insert_with(|| chain.pmpi(id))),
        }
        let entry = |(name, address): &(String, usize)| {
            let switched = layer.switch.and_then(|switch| self.switched(switch, index, layer, name, *address, process));
            (name.clone(), switched.unwrap_or(*address))
        };
        let of_c = layer.entries.iter().filter(|_| calls == FortranCalls::Seen);
        self.layers[index] =
            FortranLayer { c: of_c.map(|(id, _)| *id).collect(), wrappers: layer.fortran.iter().map(entry).collect() };
    }

    /// A link to a Fortran wrapper of layer `index`, or past it where the layer is off.
    fn switched(
        &self,
        switch: Switch,
        index: usize,
        layer: &LoadedLayer,
        name: &str,
        address: usize,
        process: &Process,
    ) -> Option<usize> {
        let id = id(name)?;
        if Handles::of(id).is_needed() {
            return None;
        }
        let prefix = if name.starts_with('M') { 'P' } else { 'p' };
        let below = format!("{prefix}{name}");
        let off = self.wrapper(index + 1, &below).or_else(|| self.library(index + 1, &layer.label, &below, process))?;
        switch.link(id, address, off, Caller::Fortran).map(|link| link.address)
    }

    /// Sets the C links of the whole chain.
    pub(crate) fn top(&mut self, chain: &mut Chain) {
        self.below[0] = Some(self.c_links(chain));
    }

    /// The topmost C links for calls of MPI's Fortran library.
    fn c_links(&self, chain: &mut Chain) -> Box<[usize]> {
        let mut links = chain.all_pmpi();
        for (id, past) in &self.past {
            links[id.index()] = *past;
        }
        links
    }

    /// Where a call of the symbol `name` (`pmpi_send_`, or `mpi_send_` that the tool does not define) by `tool` goes; `label` is
    /// the tool's. Where the process does not have the function, MPI's Fortran library may bring it later.
    pub(crate) fn next(&self, tool: ToolId, label: &str, name: &str, process: &Process) -> Option<usize> {
        // The outermost tool is 1, and 1 layer is behind its calls.
        let level = usize::try_from(tool.level()).ok()?;
        if let Some(wrapper) = self.wrapper(level, name) {
            return Some(wrapper);
        }
        self.callers.lock().insert(tool);
        self.library(level, label, name, process)
    }

    /// Where a call of this symbol goes past all layers.
    pub(crate) fn of_mpi(&self, label: &str, name: &str, process: &Process) -> Option<usize> {
        self.library(self.layers.len(), label, name, process)
    }

    /// A link to MPI's Fortran library, whose calls of C go on below `level` layers.
    fn library(&self, level: usize, label: &str, name: &str, process: &Process) -> Option<usize> {
        if let Some(real) = process.function(name) {
            return Some(fortran::resume(real, level));
        }
        let reason = format!("which {} does not have", process.mpi_name());
        let hint = "MPI's Fortran library has such functions: link it, or open it";
        let until = missing::stub(label, name, reason, hint);
        Some(fortran::resume_later(CString::new(name).ok()?, level, until))
    }

    /// The Fortran wrapper that gets a call below `level` layers, if the first layer that intercepts the function has one.
    fn wrapper(&self, level: usize, name: &str) -> Option<usize> {
        let id = id(name)?;
        let plain = plain(name)?;
        // A wrapper for another binding of the same function is not in the way of this one.
        let sees = |layer: &&FortranLayer| layer.c.contains(&id) || layer.wrappers.contains_key(&*plain);
        self.layers[level..].iter().find(sees)?.wrappers.get(&*plain).copied()
    }

    /// Lets Fortran calls of all objects enter the chain, and those of objects that will be opened. `of_program`: the C wrappers
    /// of tools of the program.
    pub(crate) fn enter(mut self, lock: &LinkerLock, process: &Process, of_program: HashMap<FnId, usize>) {
        self.program.c = of_program;
        for symbol in program_tools::before_mpi(process).flat_map(Image::symbols).filter(|symbol| symbol.defined) {
            if let Some(known) = qmpi_abi::classify_c(symbol.name).filter(|known| known.binding != Binding::C) {
                self.program.wrappers.insert(symbol.name.to_owned());
                self.program.wrapped.insert(known.id);
            }
        }
        let all = OF_PROCESS.get_or_init(|| self);
        all.rebind(lock, process, |_| true);
    }

    /// Lets Fortran calls of the application and of MPI's Fortran libraries enter the chain, of these objects.
    fn rebind(&self, lock: &LinkerLock, process: &Process, concerned: impl Fn(&Image) -> bool) {
        if !Fortran::is_there(process) {
            return;
        }
        let to_c = RefCell::default();
        let tools = program_tools::parts(process);
        let qmpi_tools = program_tools::of_qmpi_tools(process);
        for image in process.images().iter().filter(|image| concerned(image)) {
            if is_entry(image) {
                continue;
            }
            if process.is_mpi(image) {
                if is_fortran(image) {
                    let target = |reference: &Reference<'_>| self.to_c(reference.name, process, &to_c);
                    rebound::rebind(lock, image, "enter the chain: Fortran", target);
                }
            } else if !defines_wrappers(image) {
                let is_tool = tools.contains(&image);
                // libqmpi_fortran.so is what QMPI_f is in Fortran.
                let is_past =
                    !self.profiling_enters || image.find(c"qmpi_init_").is_some() || qmpi_tools.contains(&image);
                rebind::rebind(lock, image, |reference| {
                    self.application_link(reference.name, is_tool, is_past, process)
                });
            }
        }
    }

    /// What the application's reference to a Fortran function is bound to: a wrapper, or what bypasses all tools, if it asks
    /// for `pmpi_f_` and is no tool itself (`is_past`). `None`: MPI's own, which calls C.
    fn application_link(&self, name: &CStr, is_tool: bool, is_past: bool, process: &Process) -> Option<usize> {
        // The names of C, of which there are many more, are told apart by their first letters.
        if !matches!(name.to_bytes(), [b'm' | b'p', ..] | [b'M', b'P', b'I', b'_', ..] | [b'P', b'M', b'P', b'I', ..])
            || self.program.wrappers.contains(name)
        {
            return None;
        }
        let text = name.to_str().ok()?;
        let symbol = qmpi_abi::classify(text).filter(|symbol| symbol.binding != Binding::C)?;
        if symbol.profiling && is_tool {
            return None;
        }
        if symbol.profiling && is_past {
            let real = process.function(name)?;
            return Some(fortran::resume(real, self.layers.len()));
        }
        // A layer that asks where the application called wants this call, not that of MPI's Fortran library.
        match self.wrapper(0, text) {
            Some(wrapper) => Some(chain::recorded(wrapper, self.mode)),
            None if self.mode == CallerMode::Keep => Some(chain::recorded(process.function(name)?, self.mode)),
            None => None,
        }
    }

    /// What the Fortran library's reference to a C function is bound to; made once for each function.
    fn to_c(&self, name: &CStr, process: &Process, made_before: &RefCell<MadeToC>) -> Option<usize> {
        let symbol = qmpi_abi::classify_c(name).filter(|symbol| symbol.binding == Binding::C)?;
        // Where a layer has nothing to do with Fortran, no call goes on below it: any link will do.
        let of_mpi = self.below.last()?.as_ref()?;
        let link = |links: &Option<Box<[usize]>>| links.as_ref().unwrap_or(of_mpi)[symbol.id.index()];
        let mut links: Vec<usize> = self.below.iter().map(link).collect();
        if links.contains(&0) {
            return None;
        }
        if let Some(wrapper) = self.of_program(name, symbol.id, symbol.profiling, process) {
            links[0] = wrapper;
        }
        let make = || fortran::to_c(links, conversion::arity(symbol.id));
        Some(*made_before.borrow_mut().entry((symbol.id, symbol.profiling)).or_insert_with(make))
    }

    /// The function of a tool of the program that a call of MPI's Fortran library comes to without us.
    fn of_program(&self, name: &CStr, id: FnId, profiling: bool, process: &Process) -> Option<usize> {
        if self.program.wrapped.contains(&id) {
            return None; // It has seen the call.
        }
        if !profiling {
            return self.program.c.get(&id).copied();
        }
        let symbol = program_tools::before_mpi(process).find_map(|image| image.find(name))?;
        (symbol.kind == SymbolKind::Function).then(|| chain::recorded(symbol.address, self.mode))
    }
}

/// Links from MPI's Fortran library to C functions, by whether it asks for `PMPI_f`.
type MadeToC = HashMap<(FnId, bool), usize>;

/// Start-up is put off until MPI is initialized. Of Open MPI, Fortran's library does that by names that `libqmpi.so` does not have: its
/// references are bound to the entry stubs, and again when the stack is set up.
pub(crate) fn wait_for_initialization(lock: &LinkerLock, process: &Process) {
    let Some(ours) = process.images().iter().find(|image| is_entry(image)) else { return };
    for image in process.mpi().filter(|image| is_fortran(image)) {
        rebind::rebind(lock, image, |reference| {
            let symbol = qmpi_abi::classify_c(reference.name)?;
            let is_meant = symbol.profiling && symbol.binding == Binding::C && INITIALIZATION.contains(&symbol.id);
            is_meant.then(|| Some(ours.find(symbol.id.name())?.address)).flatten()
        });
    }
}

/// The same for objects that were opened since: only those of `images` that are `new`.
pub(crate) fn enter_opened(lock: &LinkerLock, images: &[Image], new: &[Image]) {
    let Some(all) = OF_PROCESS.get() else { return };
    // Hardly any library that a program opens has to do with Fortran, and to sort all objects of the process takes long.
    if !new.iter().any(has_fortran_names) {
        return;
    }
    let Some(process) = Process::of(Listed::of(images), lock) else { return };
    fortran::bind(|name| process.function(name));
    let is_new = |image: &Image| new.contains(image);
    // Objects that were there before may refer to functions of Fortran, too.
    let is_first = process.mpi().filter(|image| is_fortran(image)).all(is_new);
    all.rebind(lock, &process, |image| is_first || is_new(image));
}

/// The function behind the name of a Fortran symbol.
fn id(name: &str) -> Option<FnId> {
    qmpi_abi::classify(name).filter(|symbol| symbol.binding != Binding::C).map(|symbol| symbol.id)
}

/// `mpi_send_` of `pmpi_send_`, and of MPICH's `pmpir_send_f08ts_`, `mpi_send_f08ts_`: the name that a wrapper has.
fn plain(name: &str) -> Option<Cow<'_, str>> {
    let symbol = qmpi_abi::classify(name)?;
    if !symbol.profiling {
        return Some(name.into());
    }
    let of_mpich = |(prefix, plain)| Some(format!("{plain}{}", name.strip_prefix(prefix)?));
    let of_mpich = [("pmpir_", "mpi_"), ("pmpixr_", "mpix_")].into_iter().find_map(of_mpich);
    of_mpich.map(Cow::from).or_else(|| name.get(1..).map(Cow::from))
}

/// Is it one of MPI's Fortran libraries?
pub(crate) fn is_fortran(image: &Image) -> bool {
    image.find(c"PMPI_Init").is_none() && defines_wrappers(image)
}

/// Does it define Fortran functions of MPI, or refer to one?
fn has_fortran_names(image: &Image) -> bool {
    image.symbols_of_mpi().any(|symbol| is_fortran_name(symbol.name))
}

/// Does it define Fortran functions of MPI?
fn defines_wrappers(image: &Image) -> bool {
    image.symbols_of_mpi().any(|symbol| symbol.defined && is_fortran_name(symbol.name))
}

fn is_fortran_name(name: &CStr) -> bool {
    qmpi_abi::classify_c(name).is_some_and(|symbol| symbol.binding != Binding::C)
}
