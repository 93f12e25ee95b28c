//! The objects of the base namespace at one moment, and which have been opened since: to read an object's tables takes a microsecond or more, and
//! programs open libraries a hundred at a time.

use qmpi_dynamic::objects;

use crate::image::Image;

/// All objects at one moment.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    images: Vec<Image>,
    /// How many objects the process had opened until then, in all namespaces.
    opened: u64,
    /// How many it had closed.
    closed: u64,
    /// How many there were in the base namespace, with those that have no dynamic symbols.
    count: usize,
    /// The first of `images` that was not there at the moment before.
    first_new: usize,
}

/// How many objects the base namespace has, and how many the process has opened and closed in all namespaces.
fn numbers() -> (usize, u64, u64) {
    let mut numbers = (0, 0, 0);
    objects::for_each(|info| {
        let (opened, closed) = info.generation();
        numbers = (numbers.0 + 1, opened, closed);
    });
    numbers
}

impl Listed {
    /// All objects as they are now; all of them are new.
    pub fn now() -> Listed {
        Listed::default().since()
    }

    /// The list that had these images, at a moment before.
    pub fn of(images: &[Image]) -> Listed {
        let ((count, opened, closed), mut behind) = (numbers(), 0);
        objects::for_each(|info| behind = if images.iter().any(|image| image.is_at(info)) { 0 } else { behind + 1 });
        let opened = opened.saturating_sub(behind);
        Listed { images: images.to_vec(), opened, closed, count, first_new: images.len() }
    }

    /// All objects as they are now; those are new that this list does not have.
    ///
    /// `ld.so` puts what it opens at the end of its list. So of as many objects there as were opened meanwhile each may be new, and is taken for
    /// one, as an object that was closed and opened again has its place and name. All others are in this list, in the same order.
    pub fn since(&self) -> Listed {
        let (count, opened, closed) = numbers();
        let maybe_new = usize::try_from(opened.saturating_sub(self.opened)).unwrap_or(usize::MAX);
        let before = count.saturating_sub(maybe_new);
        let mut known = self.images.iter();
        let (mut images, mut index, mut first_new) = (Vec::with_capacity(count), 0_usize, None);
        objects::for_each(|info| {
            let mut rest = known.clone();
            let is_before = index < before;
            index += 1;
            if let Some(image) = is_before.then(|| rest.find(|image| image.is_at(info))).flatten() {
                known = rest;
                images.push(image.clone());
            } else if let Some(image) = Image::of(info) {
                first_new = first_new.or(Some(images.len()));
                images.push(image);
            }
        });
        Listed { first_new: first_new.unwrap_or(images.len()), images, opened, closed, count }
    }

    /// Are the objects of the base namespace still these? It has the same number, and none was closed.
    pub fn is_current(&self) -> bool {
        let (count, _, closed) = numbers();
        (count, closed) == (self.count, self.closed)
    }

    /// The objects, in the order in which `ld.so` lists them: the executable first.
    pub fn images(&self) -> &[Image] {
        &self.images
    }

    /// The object of this name, as another object's DT_NEEDED means it.
    pub(crate) fn named(&self, name: &str) -> Option<&Image> {
        self.images.iter().find(|image| image.name() == name)
    }

    /// Those of them that were opened since the moment before.
    pub fn new_images(&self) -> &[Image] {
        self.images.get(self.first_new..).unwrap_or_default()
    }

    /// The objects.
    pub fn into_images(self) -> Vec<Image> {
        self.images
    }
}
