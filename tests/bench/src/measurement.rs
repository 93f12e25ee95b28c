//! A line of measurements.tsv.

use crate::cost::Cost;
use crate::failure::Failure;
use crate::function::Function;

/// What was measured once.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measurement {
    /// The machine, in words.
    Machine(String),
    /// The time of a call.
    Call { mpi: String, stack: String, round: u32, function: Function, ns: f64 },
    /// Instructions of a call that are executed in `libqmpi`, or in all `other` objects.
    Instructions { mpi: String, stack: String, function: String, object: String, count: f64 },
    /// A process with so many instances of a bridged tool; `-` is one without libqmpi.
    Setup { mpi: String, tool: String, instances: String, round: u32, cost: Cost },
    /// The wall-clock time that one instance of them took; the one at position 1 is loaded first.
    Instance { mpi: String, tool: String, instances: u32, round: u32, position: u32, ms: f64 },
    /// How many instances were loaded of those asked for.
    Loaded { mpi: String, tool: String, instances: u32, loaded: u32 },
    /// The time of a call of a function of the interface.
    Interface { round: u32, function: String, ns: f64 },
    /// The time of a call with so many native instances of a tool, by its letter.
    Layers { tool: String, layers: u32, round: u32, function: Function, ns: f64 },
    /// A process with native instances.
    Native { mpi: String, stack: String, round: u32, cost: Cost },
}

/// The head of the file.
pub(crate) const SCHEMA: &str = "\
# Measurements of ci/bench. A line is one; its kind comes first. Fields are separated by tabs.
#
#   calls     MPI STACK ROUND FUNCTION ARGUMENTS NS           a call; the function `cycle` is a clock cycle
#   instr     MPI STACK FUNCTION OBJECT COUNT                 instructions of a call; OBJECT: libqmpi, other
#   setup     MPI TOOL INSTANCES ROUND CPU-MS PRIVATE-KB SHARED-KB PSS-KB    INSTANCES -: without libqmpi
#   layer     MPI TOOL INSTANCES ROUND POSITION MS            an instance of them; POSITION 1: loaded first
#   load      MPI TOOL INSTANCES LOADED
#   interface ROUND FUNCTION NS
#   layers    TOOL LAYERS ROUND FUNCTION ARGUMENTS NS
#   native    MPI STACK ROUND CPU-MS PRIVATE-KB SHARED-KB PSS-KB
#   machine   TEXT
#
# STACK: none; preload, preload-call; 0 empty stack; N bridged tools, N-call calling ones; letters and how often they are repeated
# (tests/bench/src/tool.rs): pt5 is p, t, p, t ... ten layers; pnmpiN; ownN, pluginN, turnsN in the chain of MPICH's own QMPI.
";

impl Measurement {
    /// Of a line. What is not whole, or took no time, is none: it would count as 0.
    pub(crate) fn parse(line: &str) -> Result<Self, Failure> {
        let mut fields = Fields { line, words: line.split('\t') };
        let kind = fields.text()?;
        if kind == "machine" {
            return Ok(Self::Machine(fields.text()?));
        }
        let measurement = match kind.as_str() {
            "calls" => Self::Call {
                mpi: fields.text()?,
                stack: fields.text()?,
                round: fields.number()?,
                function: fields.function()?,
                ns: fields.positive()?,
            },
            "instr" => Self::Instructions {
                mpi: fields.text()?,
                stack: fields.text()?,
                function: fields.text()?,
                object: fields.text()?,
                count: fields.number()?,
            },
            "setup" => Self::Setup {
                mpi: fields.text()?,
                tool: fields.text()?,
                instances: fields.text()?,
                round: fields.number()?,
                cost: fields.cost()?,
            },
            "layer" => Self::Instance {
                mpi: fields.text()?,
                tool: fields.text()?,
                instances: fields.number()?,
                round: fields.number()?,
                position: fields.number()?,
                ms: fields.number()?,
            },
            "load" => Self::Loaded {
                mpi: fields.text()?,
                tool: fields.text()?,
                instances: fields.number()?,
                loaded: fields.number()?,
            },
            "interface" => {
                Self::Interface { round: fields.number()?, function: fields.text()?, ns: fields.positive()? }
            }
            "layers" => Self::Layers {
                tool: fields.text()?,
                layers: fields.number()?,
                round: fields.number()?,
                function: fields.function()?,
                ns: fields.positive()?,
            },
            "native" => Self::Native {
                mpi: fields.text()?,
                stack: fields.text()?,
                round: fields.number()?,
                cost: fields.cost()?,
            },
            _ => return Err(fields.wrong()),
        };
        match fields.words.next() {
            None => Ok(measurement),
            Some(_) => Err(fields.wrong()),
        }
    }
}

impl std::fmt::Display for Measurement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Machine(text) => write!(f, "machine\t{text}"),
            Self::Call { mpi, stack, round, function: Function { name, arguments }, ns } => {
                write!(f, "calls\t{mpi}\t{stack}\t{round}\t{name}\t{arguments}\t{ns:.4}")
            }
            Self::Instructions { mpi, stack, function, object, count } => {
                write!(f, "instr\t{mpi}\t{stack}\t{function}\t{object}\t{count:.4}")
            }
            Self::Setup { mpi, tool, instances, round, cost } => {
                write!(f, "setup\t{mpi}\t{tool}\t{instances}\t{round}\t{cost}")
            }
            Self::Instance { mpi, tool, instances, round, position, ms } => {
                write!(f, "layer\t{mpi}\t{tool}\t{instances}\t{round}\t{position}\t{ms}")
            }
            Self::Loaded { mpi, tool, instances, loaded } => write!(f, "load\t{mpi}\t{tool}\t{instances}\t{loaded}"),
            Self::Interface { round, function, ns } => write!(f, "interface\t{round}\t{function}\t{ns:.4}"),
            Self::Layers { tool, layers, round, function: Function { name, arguments }, ns } => {
                write!(f, "layers\t{tool}\t{layers}\t{round}\t{name}\t{arguments}\t{ns:.4}")
            }
            Self::Native { mpi, stack, round, cost } => write!(f, "native\t{mpi}\t{stack}\t{round}\t{cost}"),
        }
    }
}

impl std::fmt::Display for Cost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}\t{}\t{}\t{}", self.cpu_ms, self.private_kb, self.shared_kb, self.pss_kb)
    }
}

/// What is left of a line.
struct Fields<'a> {
    line: &'a str,
    words: std::str::Split<'a, char>,
}

impl Fields<'_> {
    fn wrong(&self) -> Failure {
        Failure::new(format!("no measurement: {}", self.line))
    }

    fn text(&mut self) -> Result<String, Failure> {
        self.words.next().map(str::to_owned).ok_or_else(|| self.wrong())
    }

    fn number<T: std::str::FromStr>(&mut self) -> Result<T, Failure> {
        self.text()?.parse().map_err(|_| self.wrong())
    }

    fn positive(&mut self) -> Result<f64, Failure> {
        let number = self.number()?;
        if number > 0.0 { Ok(number) } else { Err(self.wrong()) }
    }

    fn function(&mut self) -> Result<Function, Failure> {
        Ok(Function { name: self.text()?, arguments: self.number()? })
    }

    fn cost(&mut self) -> Result<Cost, Failure> {
        Ok(Cost {
            cpu_ms: self.positive()?,
            private_kb: self.number()?,
            shared_kb: self.number()?,
            pss_kb: self.number()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_is_written() {
        for line in [
            "machine\tone, with words",
            "calls\tnull\tpt5\t3\tComm_rank\t2\t2.5100",
            "instr\tnull\tq1\tRecv\tlibqmpi\t14.0000",
            "setup\tmpich\tpass\t-\t1\t3.250\t100\t0\t500",
            "layer\tmpich\tpass\t15\t1\t2\t0.4",
            "load\tmpich\tpass\t15\t15",
            "interface\t1\tQMPI_Get_function\t3.0200",
            "layers\tq\t1000\t2\tComm_rank\t2\t3183.0000",
            "native\tnull\tq10\t1\t1.500\t10\t20\t30",
        ] {
            assert_eq!(Measurement::parse(line).expect(line).to_string(), line);
        }
    }

    #[test]
    fn what_is_not_whole_or_took_no_time_is_none() {
        for line in [
            "calls\tnull\t1\t1\tRecv\t7",
            "calls\tnull\t1\t1\tRecv\t7\t0",
            "calls\tnull\t1\t1\tRecv\t7\tfast",
            "calls\tnull\t1\t1\tRecv\t7\t2.5\t3",
            "setup\tmpich\tpass\t1\t1\t0\t100\t0\t500",
            "unknown\t1",
            "",
        ] {
            assert!(Measurement::parse(line).is_err(), "{line}");
        }
    }
}
