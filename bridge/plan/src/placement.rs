//! Which PMPI tools get a namespace of their own, and which share one as clones.

/// How many namespaces glibc has (`DL_NNS`), less the program's own.
const NAMESPACES: usize = 15;

/// Where an instance of a PMPI tool is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Into a namespace of its own.
    Namespace,
    /// Into the namespace that all clones share.
    Clone,
    /// Nowhere: it cannot be a clone, and no namespace is left.
    NoRoom,
}

/// The namespaces of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespaces {
    /// How many are free.
    pub free: usize,
    /// Whether the namespace of clones is among those in use.
    pub of_clones: bool,
    /// Whether one is kept for clones that are not needed yet: where further stacks may be opened.
    pub reserve: bool,
}

impl Namespaces {
    /// Those of a process with this value of `LD_AUDIT`, each library of which has one, in which nothing is loaded yet.
    pub fn at_start(audit: Option<&str>) -> Self {
        Self { free: NAMESPACES.saturating_sub(auditors(audit)), of_clones: false, reserve: false }
    }

    /// Those of this process, in which tools have taken `in_use`.
    pub fn left(in_use: usize, of_clones: bool, reserve: bool) -> Self {
        let at_start = Self::at_start(std::env::var("LD_AUDIT").ok().as_deref());
        Self { free: at_start.free.saturating_sub(in_use), of_clones, reserve }
    }

    /// Decides for each PMPI tool, outermost first. `needs_own` tells which cannot be clones; it is asked only if namespaces are short.
    ///
    /// All get a namespace as long as there are enough. Otherwise those that cannot do without, and as many others as there is room
    /// for, from the outermost; the rest are clones.
    pub fn places<T>(self, tools: &[T], needs_own: impl Fn(&T) -> bool) -> Vec<Place> {
        let for_clones = usize::from(self.reserve && !self.of_clones);
        if tools.len() + for_clones <= self.free {
            return vec![Place::Namespace; tools.len()];
        }
        let needs_own: Vec<bool> = tools.iter().map(needs_own).collect();
        let mut waiting = needs_own.iter().filter(|needs_own| **needs_own).count();
        let mut left = Self { reserve: self.reserve || waiting < tools.len(), ..self };
        let place = |needs_own: bool| {
            waiting -= usize::from(needs_own);
            let place = left.next_place(needs_own, waiting);
            let is_first_clone = place == Place::Clone && !left.of_clones;
            left.of_clones |= is_first_clone;
            left.free -= usize::from(is_first_clone || place == Place::Namespace);
            place
        };
        needs_own.into_iter().map(place).collect()
    }

    /// Decides for one PMPI tool where it is not known which come after it: those that cannot be clones, `waiting` of them at least, get
    /// a namespace before those that can.
    pub fn next_place(self, needs_own: bool, waiting: usize) -> Place {
        let for_clones = usize::from(self.reserve && !self.of_clones);
        let room = self.free.saturating_sub(for_clones);
        if room > if needs_own { 0 } else { waiting } {
            Place::Namespace
        } else if !needs_own && (self.of_clones || self.free > 0) {
            Place::Clone
        } else {
            Place::NoRoom
        }
    }
}

/// How many libraries `LD_AUDIT` names.
pub fn auditors(audit: Option<&str>) -> usize {
    audit.unwrap_or_default().split(':').filter(|library| !library.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Place::{Clone, Namespace, NoRoom};

    fn free(free: usize) -> Namespaces {
        Namespaces { free, of_clones: false, reserve: false }
    }

    /// `true` stands for a tool that cannot be a clone.
    fn places(namespaces: Namespaces, tools: &[bool]) -> Vec<Place> {
        namespaces.places(tools, |needs_own| *needs_own)
    }

    #[test]
    fn all_have_one_while_there_are_enough() {
        assert_eq!(places(free(2), &[false, true]), [Namespace, Namespace]);
        assert_eq!(places(free(0), &[]), []);
    }

    #[test]
    fn others_are_clones_which_need_one() {
        assert_eq!(places(free(2), &[false, false, false]), [Namespace, Clone, Clone]);
        assert_eq!(places(free(2), &[false, false, true]), [Clone, Clone, Namespace]);
        assert_eq!(places(Namespaces { of_clones: true, ..free(0) }, &[false, false]), [Clone, Clone]);
        assert_eq!(places(free(0), &[false]), [NoRoom]);
    }

    #[test]
    fn those_that_cannot_be_clones() {
        assert_eq!(places(free(2), &[true, true, true]), [Namespace, Namespace, NoRoom]);
        assert_eq!(places(free(2), &[true, false, true]), [Namespace, Clone, NoRoom]);
    }

    #[test]
    fn one_is_kept_for_clones() {
        let reserving = Namespaces { reserve: true, ..free(2) };
        assert_eq!(places(reserving, &[false, false]), [Namespace, Clone]);
        assert_eq!(places(reserving, &[true, true]), [Namespace, NoRoom]);
        assert_eq!(places(Namespaces { of_clones: true, ..reserving }, &[true, true]), [Namespace, Namespace]);
    }

    #[test]
    fn one_after_the_other() {
        let few = |free, of_clones| Namespaces { free, of_clones, reserve: true };
        assert_eq!(few(3, false).next_place(false, 1), Namespace);
        assert_eq!(few(3, false).next_place(false, 2), Clone);
        assert_eq!(few(2, true).next_place(false, 1), Namespace);
        assert_eq!(few(1, false).next_place(false, 0), Clone);
        assert_eq!(few(2, false).next_place(true, 9), Namespace);
        assert_eq!(few(1, false).next_place(true, 0), NoRoom);
        assert_eq!(few(1, true).next_place(true, 0), Namespace);
        assert_eq!(few(0, true).next_place(false, 0), Clone);
        assert_eq!(few(0, false).next_place(false, 0), NoRoom);
    }

    #[test]
    fn auditing_libraries_have_namespaces() {
        assert_eq!(Namespaces::at_start(None).free, 15);
        assert_eq!(Namespaces::at_start(Some("/a.so::/b.so")).free, 13);
    }
}
