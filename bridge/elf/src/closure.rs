//! A library together with the private libraries that come with it.
//!
//! Breadth first over DT_NEEDED, as ld.so loads them (elf/dl-deps.c), and never into libraries that
//! somebody else serves. What the objects contain is not looked at.

use crate::error::Error;
use crate::file::ElfFile;
use crate::search::SearchPath;

/// A library that nobody serves and that was not found, or could not be read.
#[derive(Debug)]
pub struct Missing {
    /// As in DT_NEEDED.
    pub name: String,
    /// The object that needs it: its SONAME or file name.
    pub needed_by: String,
    /// Why the file that was found cannot be used; `None` if none was found.
    pub error: Option<Error>,
}

/// A library and its private dependencies.
#[derive(Debug)]
pub struct Closure {
    /// The root first, then breadth first.
    pub objects: Vec<ElfFile>,
    /// Needed names that others serve, in order of first appearance.
    pub stopped: Vec<String>,
    /// Needed names that are nowhere.
    pub missing: Vec<Missing>,
}

impl Closure {
    /// Follows DT_NEEDED from `root`. `stop` is asked about every needed name, and about the SONAME
    /// of the file that was found for it; `true` means that it is served by others and not followed.
    pub fn of(root: ElfFile, search: &SearchPath, stop: &dyn Fn(&str) -> bool) -> Closure {
        let mut closure = Closure { objects: vec![root], stopped: Vec::new(), missing: Vec::new() };
        // Index of the object that brought in each object: RPATHs are inherited along it.
        let mut parents = vec![None];
        let mut seen = std::collections::HashSet::new();
        let mut at = 0;
        while at < closure.objects.len() {
            for name in closure.objects[at].needed().to_vec() {
                if seen.insert(name.clone()) {
                    closure.follow(name, at, &mut parents, search, stop);
                }
            }
            at += 1;
        }
        closure
    }

    /// The library itself.
    pub fn root(&self) -> &ElfFile {
        &self.objects[0]
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
        if stop(file_name) {
            self.stopped.push(name);
            return;
        }
        // As ld.so: an object that is there already satisfies the name it goes by.
        if self.objects.iter().any(|object| object.soname() == Some(&name)) {
            return;
        }
        let above = std::iter::successors(parents[requirer], |&index| parents[index]);
        let chain: Vec<&ElfFile> = above.map(|index| &self.objects[index]).collect();
        let found = search.find(&name, &self.objects[requirer], &chain);
        let error = match found.map(|path| ElfFile::open(&path)) {
            Some(Ok(object)) => {
                if object.soname().is_some_and(stop) {
                    self.stopped.push(name);
                } else if !self.objects.iter().any(|known| known.identity() == object.identity()) {
                    self.objects.push(object);
                    parents.push(Some(requirer));
                }
                return;
            }
            Some(Err(error)) => Some(error),
            None => None,
        };
        let needed_by = self.objects[requirer].name().to_owned();
        self.missing.push(Missing { name, needed_by, error });
    }
}
