//! `qmpi run --crash-report`: which objects are whose layer's, said to `libqmpi_crash.so`, which is preloaded then.
#![expect(unsafe_code, reason = "calls a function by its address, and dlopen")]

use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use qmpi_loader::Instance;
use qmpi_loader::process::dlsym;
use qmpi_plan::variable;
use qmpi_ring::crash::{Layers, SET_LAYERS, SetLayers};

/// What was said last.
static SAID: Mutex<Option<Said>> = Mutex::new(None);

struct Said {
    set: SetLayers,
    /// The first object of the program's namespace.
    base: usize,
    layers: Vec<Layer>,
}

struct Layer {
    number: i32,
    label: String,
    path: String,
    is_loading: bool,
    /// The first object of its namespace; 0: it has none of its own.
    head: usize,
    objects: Vec<(usize, usize)>,
}

/// Finds out whether anybody wants to know. It costs a look at a variable where nobody does.
pub(crate) fn prepare() {
    if std::env::var_os(variable::CRASH_REPORT).is_none() {
        return;
    }
    let Some(address) = dlsym::global(SET_LAYERS) else { return };
    // SAFETY: the function of `libqmpi_crash.so` has this type.
    let set = unsafe { std::mem::transmute::<usize, SetLayers>(address) };
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    said.get_or_insert_with(|| Said { set, base: first_object(), layers: Vec::new() });
}

/// The address of the program's link map, which is what `dlopen` returns for it.
fn first_object() -> usize {
    // SAFETY: nothing is loaded.
    unsafe { libc::dlopen(std::ptr::null(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.addr()
}

/// There will be this layer. Where the objects of a QMPI tool are is known by its path.
pub(crate) fn add(number: i32, label: &str, path: &Path) {
    change(|layers| {
        let clean = |text: &str| text.replace(['\t', '\n'], " ");
        let path = clean(&path.to_string_lossy());
        layers.push(Layer { number, label: clean(label), path, is_loading: false, head: 0, objects: Vec::new() });
    });
}

/// It is loaded now: what its constructors do is its own fault.
pub(crate) fn loading(number: i32) {
    change(|layers| {
        layers.iter_mut().filter(|layer| layer.number == number).for_each(|layer| layer.is_loading = true);
    });
}

/// It is loaded.
pub(crate) fn loaded(number: i32, instance: Option<&Instance>) {
    change(|layers| {
        for layer in layers.iter_mut().filter(|layer| layer.number == number) {
            layer.is_loading = false;
            if let Some(instance) = instance {
                (layer.head, layer.objects) = instance.objects();
            }
        }
    });
}

/// Changes what is known, and says all of it.
fn change(what: impl FnOnce(&mut Vec<Layer>)) {
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(said) = &mut *said else { return };
    what(&mut said.layers);
    let mut text = format!("base\t{:x}\n", said.base);
    for Layer { number, label, path, is_loading, head, objects } in &said.layers {
        let state = if *is_loading { "loading" } else { "layer" };
        let objects: Vec<String> = objects.iter().map(|(start, end)| format!("{start:x}-{end:x}")).collect();
        let _ = writeln!(text, "{state} {number}\t{label}\t{path}\t{head:x}\t{}", objects.join(","));
    }
    let text = text.leak();
    (said.set)(Box::leak(Box::new(Layers { text: text.as_ptr(), length: text.len() })));
}
