//! All measurements, as a file.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::measurement::{Measurement, SCHEMA};

/// Those taken so far. A line is in the file as soon as it is measured: an interrupted run leaves what it has.
pub(crate) struct Raw {
    path: PathBuf,
    file: Option<std::fs::File>,
    measurements: Vec<Measurement>,
}

impl Raw {
    pub(crate) fn create(path: PathBuf) -> Result<Self, Failure> {
        let mut file = std::fs::File::create(&path).map_err(|error| Failure::of(&path, &error))?;
        file.write_all(SCHEMA.as_bytes()).map_err(|error| Failure::of(&path, &error))?;
        Ok(Self { path, file: Some(file), measurements: Vec::new() })
    }

    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::of(path, &error))?;
        Ok(Self { path: path.to_owned(), file: None, measurements: Self::parse(&text)? })
    }

    /// The lines of such a file.
    pub(crate) fn parse(text: &str) -> Result<Vec<Measurement>, Failure> {
        text.lines().filter(|line| !line.starts_with('#')).map(Measurement::parse).collect()
    }

    pub(crate) fn add(&mut self, measurement: Measurement) -> Result<(), Failure> {
        // What was printed by a program is checked as what is read from a file.
        Measurement::parse(&measurement.to_string())?;
        if let Some(file) = &mut self.file {
            writeln!(file, "{measurement}").map_err(|error| Failure::of(&self.path, &error))?;
        }
        self.measurements.push(measurement);
        Ok(())
    }

    pub(crate) fn measurements(&self) -> &[Measurement] {
        &self.measurements
    }
}
