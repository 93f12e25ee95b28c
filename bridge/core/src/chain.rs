//! The chain: the next link of every function below each layer.
//!
//! `next(i, f)` is the first layer below `i` that intercepts `f`, else the MPI library. It is worked out from the
//! innermost layer outwards, once, and every edge is an address from then on.
//!
//! A link is native to one calling convention: that of PMPI (the MPI library, PMPI tools), of QMPI tools, or of tools
//! of the 2018 prototype. A caller with another one gets the address of a stub, which is made when it is first asked for.

use std::collections::HashMap;
use std::time::Duration;

use qmpi_abi::{FnId, INITIALIZATION};
use qmpi_links::conversion::{self, CallerMode};
use qmpi_links::pcontrol;
use qmpi_links::requests::{self, Watch};
use qmpi_links::switch::{Caller, Switch};
use qmpi_loader::Process;
use qmpi_loader::image::symbol::DefinedVersion;
use qmpi_loader::wrappers::wrapped::{Others, Stacked};
use qmpi_plan::LargeCountCalls;
use qmpi_ring::Next;

use crate::qmpi::{ToolId, macros, mpi};
use crate::switching::{self, SwitchedLink};
use crate::versions::WrapperVersions;
use crate::{large_counts, recorder};

/// How a link wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Convention {
    /// `f(args...)`
    #[default]
    Pmpi,
    /// `f(context, tool_id, args...)`
    Qmpi,
    /// `f(args..., level, vector)`; the address of the vector.
    Thesis(usize),
}

/// The next thing to call for one function.
#[derive(Debug, Clone, Copy)]
struct Link {
    address: usize,
    convention: Convention,
    /// The layer.
    tool: ToolId,
    /// The id that is passed where the convention has one: the layer's, or that of the recorder in front of it.
    passed: ToolId,
    /// The layer's function, where the recorder stands in front of it.
    recorded: Option<(usize, Convention)>,
    /// The same for callers of the PMPI convention, once that was asked for.
    as_pmpi: Option<usize>,
    /// The same for callers of the QMPI convention.
    as_qmpi: Option<(usize, ToolId)>,
    /// Of a layer that can be switched off: its switch, and the link past it.
    switched: Option<(Switch, &'static Link)>,
}

/// What a layer intercepts.
#[derive(Debug, Default)]
pub(crate) struct LoadedLayer {
    /// Its name in messages.
    pub(crate) label: String,
    pub(crate) tool: ToolId,
    pub(crate) convention: Convention,
    /// The functions, and the address to call.
    pub(crate) entries: Vec<(FnId, usize)>,
    /// Of functions of which it has several versions, all of them.
    pub(crate) versions: Vec<(FnId, DefinedVersion, usize)>,
    /// Its Fortran wrappers, by symbol name.
    pub(crate) fortran: Vec<(String, usize)>,
    /// What it has besides functions of MPI.
    pub(crate) others: Others,
    /// If it can be switched off.
    pub(crate) switch: Option<Switch>,
    /// What it sees of functions with large counts that it has with `int` counts alone.
    pub(crate) large_counts: LargeCountCalls,
    /// How long it took to load.
    pub(crate) duration: Duration,
}

/// The chain as far as it is built: from the MPI library up to the layer pushed last.
pub(crate) struct Chain {
    /// The topmost link for each function.
    links: Vec<Option<Link>>,
    /// The links for callers that ask for a version.
    versions: WrapperVersions<Link>,
    /// What layers have besides functions of MPI.
    pub(crate) others: Stacked,
    /// The functions of the MPI library, which the chain begins with; none where it begins with others.
    mpi: Box<[usize]>,
    /// What QMPI tools call for functions that the MPI library has as macros only.
    macros: HashMap<FnId, usize>,
    /// Is there a layer that is no QMPI tool?
    has_others_than_qmpi: bool,
    /// Of the MPI library's functions, the ones that start or complete requests, where a layer can be switched off.
    watched: HashMap<FnId, &'static Watch>,
    mode: CallerMode,
}

impl Chain {
    fn new(links: Vec<Option<Link>>, mode: CallerMode) -> Chain {
        Chain {
            links,
            versions: WrapperVersions::new(),
            others: Stacked::default(),
            mpi: Box::default(),
            macros: HashMap::new(),
            has_others_than_qmpi: false,
            watched: HashMap::new(),
            mode,
        }
    }

    /// The MPI library alone. `is_switched`: there are layers that can be switched off.
    pub(crate) fn on_mpi(process: &Process, mode: CallerMode, is_switched: bool) -> Chain {
        recorder::begin_destination(Some(ToolId::MPI), "MPI");
        let mut watched = HashMap::new();
        let mut link = |id: FnId| {
            let mut real = process.real(id)?;
            if let Some((address, watch)) = is_switched.then(|| requests::watch(id, real)).flatten() {
                watched.insert(id, watch);
                real = address;
            }
            Some(Link::new(real, Convention::Pmpi, ToolId::MPI).behind_recorder(id, mode))
        };
        let mut chain = Chain::new(FnId::all().map(&mut link).collect(), mode);
        let mpi = chain.all_pmpi();
        let macros = FnId::all().filter(|id| mpi[id.index()] == 0);
        let macros = macros.filter_map(|id| Some((id, macros::supplied(id, process)?))).collect();
        Chain { mpi, macros, watched, ..chain }
    }

    /// A chain on top of functions that are called as those of QMPI tools.
    pub(crate) fn on(functions: &[Next], mode: CallerMode) -> Chain {
        let link =
            |next: &Next| (next.function != 0).then(|| Link::new(next.function, Convention::Qmpi, ToolId(next.tool)));
        Chain::new(functions.iter().map(link).collect(), mode)
    }

    /// Puts a layer on top.
    pub(crate) fn push(&mut self, layer: &LoadedLayer, process: &Process) {
        recorder::begin_destination(Some(layer.tool), &layer.label);
        self.others.push(layer.others.clone());
        self.has_others_than_qmpi |= layer.convention != Convention::Qmpi;
        for (id, address) in &layer.entries {
            #[cfg(planted)]
            let address = &qmpi_links::planted::racing_copy(*address);
            let (address, convention) = match layer.convention {
                Convention::Thesis(vector) if id.function().variadic => {
                    (self.deliver(*id, *address, layer.tool, vector), Convention::Pmpi)
                }
                convention => (*address, convention),
            };
            let link_to = |address| Link::new(address, convention, layer.tool).behind_recorder(*id, self.mode);
            let mut link = link_to(address);
            if let Some((switch, below)) = layer.switch.zip(self.links[id.index()]) {
                link.switched = Some((switch, Box::leak(Box::new(below))));
                if let Some(watch) = self.watched.get(id) {
                    switch.announce(*id, watch);
                }
            }
            let versions = layer.versions.iter().filter(|(of, ..)| of == id).map(|(_, version, other)| {
                let other = if *other == address { link } else { Link { switched: link.switched, ..link_to(*other) } };
                (*version, other)
            });
            let behind = self.links[id.index()].replace(link);
            self.versions.put_in_front(*id, link, &versions.collect::<Vec<_>>(), behind);
        }
        // Tools of the prototype know the functions of 2018, and are called as they were then.
        let is_of_prototype = matches!(layer.convention, Convention::Thesis(_));
        if layer.large_counts == LargeCountCalls::Seen && !is_of_prototype {
            self.show_large_counts(layer, process);
        }
    }

    /// Lets calls with large counts come to functions that the layer has with `int` counts alone.
    fn show_large_counts(&mut self, layer: &LoadedLayer, process: &Process) {
        let mode = self.mode;
        for (id, _) in &layer.entries {
            let Some(large) = id.with_large_counts() else { continue };
            let of_layer =
                self.links[id.index()].map(|link| Link { switched: None, as_pmpi: None, as_qmpi: None, ..link });
            let (Some(mut of_layer), Some(mut below)) = (of_layer, self.links[large.index()]) else { continue };
            if below.tool == layer.tool {
                continue;
            }
            let (of, targets) = ((layer.tool, &*layer.label), [of_layer.pmpi(*id, mode), below.pmpi(large, mode)]);
            let Some(address) = large_counts::link(of, *id, large, targets, process) else { continue };
            let mut link = Link::new(address, Convention::Pmpi, layer.tool);
            if let Some(switch) = layer.switch {
                link.switched = Some((switch, Box::leak(Box::new(below))));
                if let Some(watch) = self.watched.get(&large) {
                    switch.announce(large, watch);
                }
            }
            self.replace(large, link);
        }
    }

    /// Puts a function of ours, which is called as those of PMPI tools, in front of the topmost layer.
    pub(crate) fn put_in_front(&mut self, id: FnId, address: usize, tool: ToolId) {
        if self.links[id.index()].is_some() {
            self.replace(id, Link::new(address, Convention::Pmpi, tool));
        }
    }

    /// Puts a link without versions in front of the topmost one.
    fn replace(&mut self, id: FnId, link: Link) {
        let behind = self.links[id.index()].replace(link);
        self.versions.put_in_front(id, link, &[], behind);
    }

    /// `MPI_Pcontrol` of the 2018 prototype: the wrapper gets the first argument, and the chain goes on by itself, with all.
    fn deliver(&mut self, id: FnId, wrapper: usize, tool: ToolId, vector: usize) -> usize {
        let wrapper = conversion::append(wrapper, tool.level(), vector, conversion::arity(id));
        match self.pmpi(id) {
            0 => wrapper,
            below => pcontrol::deliver_to_both(wrapper, below),
        }
    }

    /// Watches the calls that initialize MPI, at the topmost link: tools can be registered until then.
    pub(crate) fn observe_initialization(&mut self) {
        for id in INITIALIZATION {
            self.observe(id, mpi::observe_initialization);
        }
    }

    /// Puts an observer in front of the topmost link of a function, and of all its versions.
    pub(crate) fn observe(&mut self, id: FnId, observer: impl Fn(usize) -> usize) {
        let mut watched = HashMap::new();
        let mut watch = |link: Link| link.at(*watched.entry(link.place()).or_insert_with(|| observer(link.address)));
        self.links[id.index()] = self.links[id.index()].map(&mut watch);
        self.versions = self.versions.map(|of, link| if of == id { watch(link) } else { link });
    }

    /// The topmost link of `id` for a caller of the PMPI convention; 0 if there is none.
    pub(crate) fn pmpi(&mut self, id: FnId) -> usize {
        self.links[id.index()].as_mut().map_or(0, |link| link.pmpi(id, self.mode))
    }

    /// All topmost links for callers of the PMPI convention.
    pub(crate) fn all_pmpi(&mut self) -> Box<[usize]> {
        FnId::all().map(|id| self.pmpi(id)).collect()
    }

    /// The function of the MPI library, for callers that go past all layers; 0 if there is none.
    pub(crate) fn mpi(&self, id: FnId, process: &Process) -> usize {
        self.mpi.get(id.index()).copied().unwrap_or_else(|| process.real(id).unwrap_or(0))
    }

    /// The topmost links that `dlsym` finds, for callers of the PMPI convention, where they are others.
    pub(crate) fn all_by_name(&self) -> Box<[(FnId, usize)]> {
        let is_other =
            |(id, link): &(FnId, Link)| self.links[id.index()].is_none_or(|plain| plain.place() != link.place());
        self.versions.newest().filter(is_other).map(|(id, mut link)| (id, link.pmpi(id, self.mode))).collect()
    }

    /// The topmost links for callers of the QMPI convention, and the ids to pass.
    pub(crate) fn all_qmpi(&mut self) -> Box<[Next]> {
        let next = |(function, tool): (usize, ToolId)| Next { function, tool: tool.0 };
        let link = |id: FnId| match &mut self.links[id.index()] {
            Some(link) => next(link.qmpi(id, self.mode)),
            None => self.macros.get(&id).map_or(Next::default(), |function| next((*function, ToolId::MPI))),
        };
        FnId::all().map(link).collect()
    }

    /// The topmost link of `id` for a caller of the 2018 prototype, `f(args..., level, vector)`, and the level to pass.
    ///
    /// Where a tool of another kind or the MPI library comes next, it is the link for callers of the PMPI convention: two
    /// words too many behind the arguments do no harm. The caller makes room for what it passes and takes it away again,
    /// and a function looks at the places of its own arguments only (psABI 3.2.3).
    pub(crate) fn thesis(&mut self, id: FnId) -> Option<(usize, ToolId)> {
        let link = self.links[id.index()]?;
        // What leads past a layer does not know which level to pass.
        let is_thesis = matches!(link.convention, Convention::Thesis(_)) && link.switched.is_none();
        let address = if is_thesis { link.address } else { self.pmpi(id) };
        Some((address, link.tool))
    }

    /// Are all layers QMPI tools?
    pub(crate) fn is_of_qmpi_tools(&self) -> bool {
        !self.has_others_than_qmpi
    }

    /// Does a layer have a wrapper of `id`?
    pub(crate) fn is_intercepted(&self, id: FnId) -> bool {
        self.links[id.index()].is_some_and(|link| link.tool != ToolId::MPI)
    }

    /// Does a layer below a PMPI tool ask where the application called?
    pub(crate) fn mode(&self) -> CallerMode {
        self.mode
    }

    /// Where the application's calls go, for all functions; 0 if nowhere.
    pub(crate) fn all_entries(&mut self) -> Box<[usize]> {
        let entry = |id: FnId| self.links[id.index()].as_mut().map_or(0, |link| link.entry(id, self.mode));
        FnId::all().map(entry).collect()
    }

    /// Where the application's calls go that ask for a version, and what look-ups by name find; `entries`: where those go that ask for
    /// none.
    pub(crate) fn versions(&self, entries: &[usize]) -> WrapperVersions<usize> {
        let mut of_links = HashMap::new();
        self.versions.map(|id, mut link| match self.links[id.index()] {
            Some(plain) if plain.place() == link.place() => entries[id.index()],
            _ => *of_links.entry((id, link.place())).or_insert_with(|| link.entry(id, self.mode)),
        })
    }
}

impl Link {
    fn new(address: usize, convention: Convention, tool: ToolId) -> Link {
        Link { address, convention, tool, passed: tool, recorded: None, as_pmpi: None, as_qmpi: None, switched: None }
    }

    /// The same link with the recorder in front of it, if calls are recorded.
    fn behind_recorder(mut self, id: FnId, mode: CallerMode) -> Link {
        match recorder::in_front(id, || self.qmpi(id, mode)) {
            Some((address, edge)) => Link {
                passed: edge,
                recorded: Some((self.address, self.convention)),
                ..Link::new(address, Convention::Qmpi, self.tool)
            },
            None => self,
        }
    }

    /// The same layer, and the same id, by way of another address.
    fn at(self, address: usize) -> Link {
        Link { address, as_pmpi: None, as_qmpi: None, ..self }
    }

    /// What tells links of a function apart. The recorder has one wrapper of a function, and an id for each link.
    fn place(&self) -> (usize, ToolId) {
        (self.address, self.passed)
    }

    /// For a caller of the PMPI convention.
    fn pmpi(&mut self, id: FnId, mode: CallerMode) -> usize {
        if let Some(known) = self.as_pmpi {
            return known;
        }
        let link = move |link: Link| link.into_pmpi(id, mode);
        let address = match self.switched {
            None => link(*self),
            Some((switch, below)) => {
                let off = { *below }.pmpi(id, mode);
                self.switch(switch, id, Caller::C, off, link).unwrap_or_else(|| link(*self))
            }
        };
        *self.as_pmpi.insert(address)
    }

    /// The same where the layer is on.
    fn into_pmpi(self, id: FnId, mode: CallerMode) -> usize {
        let arity = conversion::arity(id);
        match self.convention {
            Convention::Pmpi => self.address,
            Convention::Qmpi => {
                // No layer comes behind the MPI library, so none asks there where the application called.
                let keep = if self.tool == ToolId::MPI { CallerMode::Ignore } else { mode };
                conversion::up(self.address, self.passed.0, arity, keep)
            }
            Convention::Thesis(vector) => conversion::append(self.address, self.tool.level(), vector, arity),
        }
    }

    /// For a caller of the QMPI convention, and the id to pass.
    fn qmpi(&mut self, id: FnId, mode: CallerMode) -> (usize, ToolId) {
        if let Some(known) = self.as_qmpi {
            return known;
        }
        let link = move |mut link: Link| {
            if link.convention == Convention::Qmpi {
                return link.address;
            }
            // No layer comes behind the MPI library, so none asks there where the application called.
            let keep = if link.tool == ToolId::MPI { CallerMode::Ignore } else { mode };
            let on = if link.switched.is_some() { link.into_pmpi(id, mode) } else { link.pmpi(id, mode) };
            conversion::down(on, conversion::arity(id), keep)
        };
        let address = match self.switched {
            // One stub for both directions.
            None if self.convention != Convention::Qmpi => {
                self.pmpi(id, mode);
                link(*self)
            }
            None => self.address,
            Some((switch, below)) => {
                let (off, tool) = { *below }.qmpi(id, mode);
                // The caller passes the id of this layer.
                let off = if tool == self.passed { off } else { conversion::numbered(off, tool.0) };
                self.switch(switch, id, Caller::Qmpi, off, link).unwrap_or_else(|| link(*self))
            }
        };
        *self.as_qmpi.insert((address, self.passed))
    }

    /// For the application.
    fn entry(&mut self, id: FnId, mode: CallerMode) -> usize {
        let arity = conversion::arity(id);
        match (self.convention, self.tool) {
            (Convention::Qmpi, _) => {
                // The application's return address is on the stack: no need to look elsewhere.
                let link = move |link: Link| conversion::up(link.address, link.passed.0, arity, CallerMode::Ignore);
                let switched = self.switched.and_then(|(switch, below)| {
                    let off = { *below }.entry(id, mode);
                    self.switch(switch, id, Caller::C, off, link)
                });
                switched.unwrap_or_else(|| link(*self))
            }
            (_, ToolId::MPI) => self.pmpi(id, mode),
            _ => recorded(self.pmpi(id, mode), mode),
        }
    }

    /// A link to this function, by way of what `lead_to` makes, or past its layer to `off`. `None`: the layer is to see all calls.
    fn switch(
        self,
        switch: Switch,
        id: FnId,
        caller: Caller,
        off: usize,
        lead_to: impl Fn(Link) -> usize + Send + 'static,
    ) -> Option<usize> {
        let on = lead_to(self);
        let link = switch.link(id, on, off, caller)?;
        // Another function in the place of the layer's is called past the recorder.
        let (own, convention) = self.recorded.unwrap_or((self.address, self.convention));
        let (recorded, tool) = (self, self.tool);
        let lead_to = Box::new(move |address| {
            if address == own {
                return lead_to(recorded);
            }
            let link = lead_to(Link::new(address, convention, tool));
            let is_called_as_recorder = caller == Caller::Qmpi && convention == Convention::Qmpi;
            let passes_other_id = is_called_as_recorder && recorded.passed != tool;
            if passes_other_id { conversion::numbered(link, tool.0) } else { link }
        });
        switching::add_link(tool, id, own, SwitchedLink { target: link.function, lead_to });
        Some(link.address)
    }
}

/// A link from the application to a PMPI tool's function, which notes the return address if a layer asks for it.
pub(crate) fn recorded(address: usize, mode: CallerMode) -> usize {
    if mode == CallerMode::Keep { conversion::record(address) } else { address }
}

/// A link from the application to a function of a PMPI tool of the program, with the recorder in front of it, if calls are recorded.
pub(crate) fn of_program(id: FnId, address: usize, mode: CallerMode) -> usize {
    let arity = conversion::arity(id);
    match recorder::in_front(id, || (conversion::down(address, arity, mode), ToolId::MPI)) {
        Some((wrapper, edge)) => conversion::up(wrapper, edge.0, arity, CallerMode::Ignore),
        None => recorded(address, mode),
    }
}
