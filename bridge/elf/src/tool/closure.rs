//! A tool's file, the libraries that stand before it in the same namespace, and the private libraries that come with them.
//!
//! Breadth first over DT_NEEDED, as ld.so loads them (elf/dl-deps.c), and never into libraries that
//! others serve. What the objects contain is not looked at.

use std::collections::HashSet;

use crate::error::ElfError;
use crate::file::ElfFile;
use crate::linker::search::SearchPath;
use crate::mpi::abi_family::{is_mpi_library, is_name_of_tools_too};

/// A library that is not served and that was not found, or could not be read.
#[derive(Debug)]
pub struct Missing {
    /// As in DT_NEEDED.
    pub name: String,
    /// The object that needs it: its SONAME or file name.
    pub needed_by: String,
    /// Why the file that was found cannot be used; `None` if none was found.
    pub error: Option<ElfError>,
}

/// A library and its private dependencies.
#[derive(Debug)]
pub struct Closure {
    /// The root first, the libraries that stand before it, then breadth first.
    pub objects: Vec<ElfFile>,
    /// How many libraries stand before the root in the order of symbols, as in a list in LD_PRELOAD.
    before: usize,
    /// Needed names that others serve, in order of first appearance.
    pub stopped: Vec<String>,
    /// Needed names that are nowhere.
    pub missing: Vec<Missing>,
    /// Libraries whose versions an object needs (DT_VERNEED) while no object names them in DT_NEEDED. In a process where
    /// another object brings them that goes unnoticed; in a namespace of its own `ld.so` ends the process with an assertion
    /// (`elf/dl-version.c: _dl_check_map_versions`). They are among the objects, or served, as the others are.
    pub unnamed: Vec<String>,
}

impl Closure {
    /// Follows DT_NEEDED from `root` and the libraries that stand before it. `stop` is asked about every needed name, and about the SONAME
    /// of the file that was found for it; `true` means that it is served by others and not followed.
    pub fn of(root: ElfFile, before: Vec<ElfFile>, search: &SearchPath, stop: &dyn Fn(&str) -> bool) -> Closure {
        let mut objects = vec![root];
        for object in before {
            // As ld.so: a file is loaded once.
            if !objects.iter().any(|known| known.identity() == object.identity()) {
                objects.push(object);
            }
        }
        let before = objects.len() - 1;
        // Index of the object that brought in each object: RPATHs are inherited along it.
        let mut parents = vec![None; objects.len()];
        let mut closure = Closure { objects, before, stopped: Vec::new(), missing: Vec::new(), unnamed: Vec::new() };
        let mut seen = HashSet::new();
        let mut at = 0;
        loop {
            while at < closure.objects.len() {
                for name in closure.objects[at].needed().to_vec() {
                    if seen.insert(name.clone()) {
                        closure.follow(name, at, &mut parents, search, stop);
                    }
                }
                at += 1;
            }
            // Only then: any object of the namespace may name the library.
            let Some((index, name)) = closure.unnamed_need(&seen) else { return closure };
            seen.insert(name.clone());
            closure.unnamed.push(name.clone());
            closure.follow(name, index, &mut parents, search, stop);
        }
    }

    /// The next library that is named for its versions only, and the object that does so.
    fn unnamed_need(&self, seen: &HashSet<String>) -> Option<(usize, String)> {
        self.objects.iter().enumerate().find_map(|(index, object)| {
            let need = object.version_needs.iter().find(|need| !seen.contains(&need.file))?;
            Some((index, need.file.clone()))
        })
    }

    /// The library itself.
    pub fn root(&self) -> &ElfFile {
        &self.objects[0]
    }

    /// The libraries that stand before the root, in their order.
    pub fn before(&self) -> &[ElfFile] {
        &self.objects[1..=self.before]
    }

    /// The files that a list in LD_PRELOAD would name, in its order: the root is the last.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &ElfFile> {
        self.before().iter().chain([self.root()])
    }

    /// The libraries that these need.
    pub fn private(&self) -> &[ElfFile] {
        &self.objects[self.before + 1..]
    }

    fn follow(
        &mut self,
        name: String,
        requirer: usize,
        parents: &mut Vec<Option<usize>>,
        search: &SearchPath,
        stop: &dyn Fn(&str) -> bool,
    ) {
        let file_name = name.rsplit('/').next().unwrap_or(&name);
        let is_served = stop(file_name);
        if is_served && !is_name_of_tools_too(file_name) {
            self.stopped.push(name);
            return;
        }
        // As ld.so: an object that is there already satisfies the name it goes by.
        if self.objects.iter().any(|object| object.soname() == Some(&name)) {
            return;
        }
        let above = std::iter::successors(parents[requirer], |&index| parents[index]);
        let chain: Vec<&ElfFile> = above.map(|index| &self.objects[index]).collect();
        let found =
            search.find(&name, &self.objects[requirer], &chain).map(|path| ElfFile::open_for(&path, search.machine()));
        // Others serve a library of MPI's, not the tool's own that has such a name.
        let is_own = |object: &ElfFile| is_name_of_tools_too(object.name()) && !is_mpi_library(object);
        if is_served && !matches!(&found, Some(Ok(object)) if is_own(object)) {
            self.stopped.push(name);
            return;
        }
        match found.transpose() {
            Ok(Some(object)) if object.soname().is_some_and(stop) && !is_own(&object) => self.stopped.push(name),
            Ok(Some(object)) => {
                if !self.objects.iter().any(|known| known.identity() == object.identity()) {
                    self.objects.push(object);
                    parents.push(Some(requirer));
                }
            }
            missing => {
                let needed_by = self.objects[requirer].name().to_owned();
                self.missing.push(Missing { name, needed_by, error: missing.err() });
            }
        }
    }
}
