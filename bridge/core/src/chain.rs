//! The chain: the next link of every function below each layer.
//!
//! `next(i, f)` is the first layer below `i` that intercepts `f`, else the MPI library. It is worked out from the
//! innermost layer outwards, once, and every edge is an address from then on.
//!
//! A link is native to one calling convention: that of PMPI (the MPI library, PMPI tools), of QMPI tools, or of tools
//! of the 2018 prototype. A caller with another one gets the address of a stub, which is made when it is first asked for.

use std::collections::HashMap;
use std::time::Duration;

use qmpi_abi::FnId;
use qmpi_loader::image::version::Version;
use qmpi_loader::links::conversion::{self, Arity, CallerMode};
use qmpi_loader::links::pcontrol;
use qmpi_loader::links::wrapped::{Others, Stacked};
use qmpi_loader::{LoadError, Process, log};
use qmpi_ring::Next;

use crate::report::{self, finalize};
use crate::versions::Versions;

/// Number of a layer in its interface with QMPI tools: 1 is the outermost, 0 the MPI library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ToolId(pub(crate) i32);

impl ToolId {
    /// What `next_tool_id` is for the MPI library itself.
    pub(crate) const MPI: ToolId = ToolId(0);

    /// The layer at this place of the stack, 0 being the outermost.
    pub(crate) fn of_layer(index: usize) -> ToolId {
        ToolId(i32::try_from(index + 1).unwrap_or(i32::MAX))
    }

    /// The place of this layer: the reverse of [`ToolId::of_layer`].
    pub(crate) fn index(self) -> usize {
        usize::try_from(self.0 - 1).unwrap_or(0)
    }
}

/// How a link wants to be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Convention {
    /// `f(args...)`
    Pmpi,
    /// `f(context, tool_id, args...)`
    Qmpi,
    /// `f(args..., level, vector)`; the address of the vector.
    Thesis(usize),
}

impl Convention {
    /// How many words a call has, two more than the function has arguments where more is passed.
    fn arity(self, id: FnId) -> Arity {
        match (self, conversion::arity(id)) {
            (Self::Qmpi | Self::Thesis(_), Arity::Fixed(words)) => Arity::Fixed(words + 2),
            (_, arity) => arity,
        }
    }
}

/// The next thing to call for one function.
#[derive(Debug, Clone, Copy)]
struct Link {
    address: usize,
    convention: Convention,
    tool: ToolId,
    /// The same for callers of the PMPI convention, once that was asked for.
    as_pmpi: Option<usize>,
    /// The same for callers of the QMPI convention.
    as_qmpi: Option<usize>,
}

/// What a layer intercepts.
#[derive(Debug)]
pub(crate) struct Layer {
    /// Its name in messages.
    pub(crate) label: String,
    pub(crate) tool: ToolId,
    pub(crate) convention: Convention,
    /// The functions, and the address to call.
    pub(crate) entries: Vec<(FnId, usize)>,
    /// Of functions of which it has several versions, all of them.
    pub(crate) versions: Vec<(FnId, Version, usize)>,
    /// Its Fortran wrappers, by symbol name.
    pub(crate) fortran: Vec<(String, usize)>,
    /// What it has besides functions of MPI.
    pub(crate) others: Others,
    /// How long it took to load.
    pub(crate) duration: Duration,
}

/// The chain as far as it is built: from the MPI library up to the layer pushed last.
pub(crate) struct Chain {
    /// The topmost link for each function.
    links: Vec<Option<Link>>,
    /// The links for callers that ask for a version.
    versions: Versions<Link>,
    /// What layers have besides functions of MPI.
    pub(crate) others: Stacked,
    /// The functions of the MPI library, which the chain begins with; none where it begins with others.
    mpi: Box<[usize]>,
    mode: CallerMode,
}

impl Chain {
    /// The MPI library alone.
    pub(crate) fn new(process: &Process, mode: CallerMode) -> Chain {
        report::layer("MPI");
        let mpi: Box<[usize]> = FnId::all()
            .map(|id| process.real(id).map_or(0, |real| report::link(id, real, Convention::Pmpi.arity(id))))
            .collect();
        let link = |address: &usize| (*address != 0).then(|| Link::new(*address, Convention::Pmpi, ToolId::MPI));
        let links = mpi.iter().map(link).collect();
        Chain { links, versions: Versions::new(), others: Stacked::default(), mpi, mode }
    }

    /// A chain on top of functions that are called as those of QMPI tools.
    pub(crate) fn on(functions: &[Next], mode: CallerMode) -> Chain {
        let link =
            |next: &Next| (next.function != 0).then(|| Link::new(next.function, Convention::Qmpi, ToolId(next.tool)));
        let links = functions.iter().map(link).collect();
        Chain { links, versions: Versions::new(), others: Stacked::default(), mpi: Box::default(), mode }
    }

    /// Puts a layer on top.
    pub(crate) fn push(&mut self, layer: &Layer) {
        report::layer(&layer.label);
        self.others.push(layer.others.clone());
        for (id, address) in &layer.entries {
            let (address, convention) = match layer.convention {
                Convention::Thesis(vector) if id.function().variadic => {
                    (self.deliver(*id, *address, layer.tool, vector), Convention::Pmpi)
                }
                convention => (*address, convention),
            };
            let counted = |address| report::link(*id, address, convention.arity(*id));
            let link = Link::new(counted(address), convention, layer.tool);
            let versions = layer.versions.iter().filter(|(of, ..)| of == id).map(|(_, version, other)| {
                let other = if *other == address { link } else { link.at(counted(*other)) };
                (*version, other)
            });
            let behind = self.links[id.index()].replace(link);
            self.versions.put_in_front(*id, link, &versions.collect::<Vec<_>>(), behind);
        }
    }

    /// `MPI_Pcontrol` of the 2018 prototype: the wrapper gets the first argument, and the chain goes on by itself, with all.
    fn deliver(&mut self, id: FnId, wrapper: usize, tool: ToolId, vector: usize) -> usize {
        let wrapper = or_end(conversion::append(wrapper, tool.0, vector, conversion::arity(id)));
        match self.pmpi(id) {
            0 => wrapper,
            below => or_end(pcontrol::deliver_to_both(wrapper, below)),
        }
    }

    /// Watches the way of `MPI_Finalize` past the topmost link.
    pub(crate) fn observe_finalize(&mut self, edge: finalize::Edge) {
        let Some(id) = FnId::by_name("MPI_Finalize") else { return };
        let mut watched = HashMap::new();
        let mut watch =
            |link: Link| link.at(*watched.entry(link.address).or_insert_with(|| finalize::observe(link.address, edge)));
        self.links[id.index()] = self.links[id.index()].map(&mut watch);
        self.versions = self.versions.map(|of, link| if of == id { watch(link) } else { link });
    }

    /// The topmost link of `id` for a caller of the PMPI convention; 0 if there is none.
    pub(crate) fn pmpi(&mut self, id: FnId) -> usize {
        let mode = self.mode;
        self.links[id.index()].as_mut().map_or(0, |link| link.pmpi(id, mode))
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
            |(id, link): &(FnId, Link)| self.links[id.index()].is_none_or(|plain| plain.address != link.address);
        self.versions.newest().filter(is_other).map(|(id, mut link)| (id, link.pmpi(id, self.mode))).collect()
    }

    /// The topmost link of `id` for a caller of the QMPI convention, and the id to pass.
    pub(crate) fn qmpi(&mut self, id: FnId) -> Option<(usize, ToolId)> {
        let mode = self.mode;
        let below = self.links[id.index()]?;
        if below.convention == Convention::Qmpi {
            return Some((below.address, below.tool));
        }
        // No layer comes behind the MPI library, so none asks there where the application called.
        let mode = if below.tool == ToolId::MPI { CallerMode::Ignore } else { mode };
        let pmpi = self.pmpi(id);
        let link = self.links[id.index()].as_mut()?;
        let address = *link.as_qmpi.get_or_insert_with(|| or_end(conversion::down(pmpi, conversion::arity(id), mode)));
        Some((address, link.tool))
    }

    /// The topmost link of `id` for a caller of the 2018 prototype, `f(args..., level, vector)`, and the level to pass.
    ///
    /// Where a tool of another kind or the MPI library comes next, it is the link for callers of the PMPI convention: two
    /// words too many behind the arguments do no harm. The caller makes room for what it passes and takes it away again,
    /// and a function looks at the places of its own arguments only (psABI 3.2.3).
    pub(crate) fn thesis(&mut self, id: FnId) -> Option<(usize, ToolId)> {
        let link = self.links[id.index()]?;
        let address = if matches!(link.convention, Convention::Thesis(_)) { link.address } else { self.pmpi(id) };
        Some((address, link.tool))
    }

    /// Does a layer have a wrapper of `id`?
    pub(crate) fn is_intercepted(&self, id: FnId) -> bool {
        self.links[id.index()].is_some_and(|link| link.tool != ToolId::MPI)
    }

    /// Does a layer below a PMPI tool ask where the application called?
    pub(crate) fn mode(&self) -> CallerMode {
        self.mode
    }

    /// Where the application's calls go, for all functions.
    pub(crate) fn all_entries(&mut self) -> Box<[usize]> {
        FnId::all().map(|id| self.entry(id)).collect()
    }

    /// Where the application's calls of `id` go; 0 if nowhere.
    pub(crate) fn entry(&mut self, id: FnId) -> usize {
        let mode = self.mode;
        self.links[id.index()].as_mut().map_or(0, |link| link.entry(id, mode))
    }

    /// Where the application's calls go that ask for a version, and what look-ups by name find; `entries`: where those go that ask for
    /// none.
    pub(crate) fn versions(&self, entries: &[usize]) -> Versions<usize> {
        let mut of_links = HashMap::new();
        self.versions.map(|id, mut link| match self.links[id.index()] {
            Some(plain) if plain.address == link.address => entries[id.index()],
            _ => *of_links.entry((id, link.address)).or_insert_with(|| link.entry(id, self.mode)),
        })
    }
}

impl Link {
    fn new(address: usize, convention: Convention, tool: ToolId) -> Link {
        Link { address, convention, tool, as_pmpi: None, as_qmpi: None }
    }

    /// Another function of the same layer.
    fn at(self, address: usize) -> Link {
        Link::new(address, self.convention, self.tool)
    }

    /// For a caller of the PMPI convention.
    fn pmpi(&mut self, id: FnId, mode: CallerMode) -> usize {
        *self.as_pmpi.get_or_insert_with(|| {
            let arity = conversion::arity(id);
            or_end(match self.convention {
                Convention::Pmpi => Ok(self.address),
                Convention::Qmpi => conversion::up(self.address, self.tool.0, arity, mode),
                Convention::Thesis(vector) => conversion::append(self.address, self.tool.0, vector, arity),
            })
        })
    }

    /// For the application.
    fn entry(&mut self, id: FnId, mode: CallerMode) -> usize {
        let arity = conversion::arity(id);
        match (self.convention, self.tool, mode) {
            // The application's return address is on the stack: no need to look elsewhere.
            (Convention::Qmpi, tool, _) => or_end(conversion::up(self.address, tool.0, arity, CallerMode::Ignore)),
            (_, ToolId::MPI, _) | (_, _, CallerMode::Ignore) => self.pmpi(id, mode),
            (_, _, CallerMode::Keep) => recorded(self.pmpi(id, mode), CallerMode::Keep),
        }
    }
}

/// A link from the application to a PMPI tool's function, which notes the return address if a layer asks for it.
pub(crate) fn recorded(address: usize, mode: CallerMode) -> usize {
    match mode {
        CallerMode::Ignore => address,
        CallerMode::Keep => or_end(conversion::record(address)),
    }
}

/// Without stubs there is no stack.
pub(crate) fn or_end<T>(stub: Result<T, LoadError>) -> T {
    stub.unwrap_or_else(|error| log::fatal(&error.to_string(), error.hint().as_deref()))
}
