//! Loads instances, one for each init callback, and keeps what they have in common until MPI is in use.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::Arc;

use qmpi_abi::FnId;
use qmpi_dynamic::LinkerLock;
use qmpi_elf::SearchPath;
use qmpi_links::conversion::{self, CallerMode};
use qmpi_links::lazy::{self, LazySlots};
use qmpi_loader::process::loader_lock;
use qmpi_loader::{Links, LoadError, Loader, Process};
use qmpi_plan::{Inspector, Layer, Namespaces, Place, Planned};
use qmpi_system::log;

use crate::next::{self, Registered};
use crate::{configured, numbering, qmpi};

/// What instances have in common.
struct Instances {
    process: Arc<Process>,
    inspector: Inspector<'static>,
    loader: Loader<'static>,
    /// By name: several instances of one name differ in nothing that a file tells.
    planned: HashMap<String, &'static Planned>,
    /// The names of tools that need a namespace and have not got one; `None` while there are enough for all.
    waiting: Option<HashSet<String>>,
    /// The MPI library's functions past all tools, for layers that hide their own calls.
    of_mpi: OnceCell<LazySlots>,
}

thread_local! {
    /// Of the thread that initializes MPI: all init callbacks are called in it.
    static INSTANCES: RefCell<Option<&'static mut Instances>> = const { RefCell::new(None) };
}

/// Loads an instance of `layer` as the QMPI tool `tool`. Without an MPI in the process nothing is done.
///
/// # Errors
/// What is wrong with the tool.
pub(crate) fn load(tool: c_int, layer: &'static Layer) -> Result<(), LoadError> {
    // One callback at a time, also where an implementation calls them in several threads.
    loader_lock::with(|lock| {
        INSTANCES.with(|kept| {
            // A callback within a callback, which no implementation makes, has nothing in common with the other.
            let (mut kept, mut own) = (kept.try_borrow_mut(), None);
            let instances = kept.as_deref_mut().unwrap_or(&mut own);
            if instances.is_none() {
                // Never dropped: a thread's end is no time to free it.
                *instances = Instances::new(lock).map(|instances| Box::leak(Box::new(instances)));
            }
            instances.as_mut().map_or(Ok(()), |instances| instances.load(tool, layer, lock))
        })
    })
}

impl Instances {
    fn new(lock: &LinkerLock) -> Option<Instances> {
        let mut process = Process::with_mpi(lock)?;
        process.keep_mpi();
        process.open_unwinder();
        let search: &'static SearchPath = Box::leak(Box::new(SearchPath::from_process()));
        Some(Instances {
            process: Arc::new(process),
            inspector: Inspector::new(search),
            loader: Loader::default(),
            planned: HashMap::new(),
            waiting: None,
            of_mpi: OnceCell::new(),
        })
    }

    fn load(&mut self, tool: c_int, layer: &'static Layer, lock: &LinkerLock) -> Result<(), LoadError> {
        self.process = self.process.again(lock);
        let planned = self.plan(layer)?;
        let place = self.place(planned);
        let own = lazy::links(tool, next::below, lock);
        let process = Arc::clone(&self.process);
        // Functions that QMPI does not number here, as no tool can intercept them, are the MPI library's own.
        let link = |id| match (process.real(id), numbering::number(id)) {
            (None, _) => 0,
            (Some(real), None) => real,
            (Some(_), Some(_)) => own.link(id),
        };
        let links: Box<[usize]> = FnId::all().map(link).collect();
        let past_all = self.of_mpi.get_or_init(|| {
            next::find_functions_of_mpi(&process);
            lazy::links(0, next::of_mpi, lock)
        });
        let of_mpi = |id: FnId| if links[id.index()] == 0 { 0 } else { past_all.link(id) };
        let nothing = |_: &str| None;
        let wrapped = &HashMap::new();
        let below = Links { c: &links, wrapped, by_name: &[], fortran: &nothing, mpi: &of_mpi, mpi_fortran: &nothing };

        let loaded = self.loader.load(&mut self.process, planned, &below, place, lock);
        qmpi_loader::close_files();
        let loaded = loaded?;
        qmpi::register_tool_storage(tool, loaded.instance);
        let mut registered = Vec::with_capacity(loaded.entries.len());
        for (id, wrapper) in loaded.entries {
            let Some(number) = numbering::number(id) else { continue };
            let link = conversion::down(wrapper, conversion::arity(id), CallerMode::Null);
            if qmpi::register_function(tool, number, link) {
                registered.push(Registered { id, link, wrapper });
            } else {
                log::warn(&format!("{}: {} cannot be intercepted", layer.label, id.name()), None);
            }
        }
        next::remember(tool, registered, lock);
        Ok(())
    }

    fn plan(&mut self, layer: &Layer) -> Result<&'static Planned, LoadError> {
        if let Some(planned) = self.planned.get(&layer.name) {
            return Ok(planned);
        }
        let planned = qmpi_loader::plan(&mut self.process, layer, &mut self.inspector)?;
        let planned: &'static Planned = Box::leak(Box::new(planned));
        self.planned.insert(layer.name.clone(), planned);
        Ok(planned)
    }

    /// Where the next instance goes. How many will come is the MPI library's business: there is always room for clones, and for one instance
    /// of each tool of the configuration that cannot be one.
    fn place(&mut self, planned: &'static Planned) -> Place {
        let (in_use, of_clones) = (qmpi_loader::namespaces_in_use(), qmpi_loader::clones_have_a_namespace());
        let namespaces = Namespaces::left(in_use, of_clones, true);
        let all = configured::layers();
        if self.waiting.is_none() && all.len() > namespaces.free {
            // What is wrong with a tool is said when it is its turn, if that comes.
            let need_one = all.iter().filter(|layer| self.plan(layer).is_ok_and(Planned::needs_namespace));
            self.waiting = Some(need_one.map(|layer| layer.name.clone()).collect());
        }
        let waiting = self.waiting.as_mut().map_or(0, |waiting| {
            waiting.remove(&planned.layer.name);
            waiting.len()
        });
        namespaces.next_place(planned.needs_namespace(), waiting)
    }
}
