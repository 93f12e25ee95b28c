//! A value that one thread at a time has.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A mutex without poison: a panic ends the process, so no thread sees what one has left behind.
#[derive(Debug, Default)]
pub struct Locked<T>(Mutex<T>);

impl<T> Locked<T> {
    /// A value that no thread has.
    pub const fn new(value: T) -> Locked<T> {
        Locked(Mutex::new(value))
    }

    /// Waits for other threads, and has the value until the guard is dropped.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
