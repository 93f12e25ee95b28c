//! Kinds of launchers, by the names of their files.

/// The kind of launcher that starts the ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// `mpirun` of Open MPI up to 4: `-x` holds for one of several programs (`:`), and excludes `mca_base_env_list`.
    Orte,
    /// `mpirun` of Open MPI 5: `-x` holds for all programs, and goes with `mca_base_env_list`.
    Prrte,
    /// `mpiexec` of MPICH and its relatives.
    Hydra,
    /// `srun`.
    Slurm,
    /// `mpiexec` of HPE's PALS, on Cray machines with PBS.
    Pals,
    /// `flux run`, `flux submit` and the like.
    Flux,
}

impl Launcher {
    /// By the name of its file, unless launchers of several kinds have that name, as `mpirun` and `mpiexec`.
    pub fn of_file_name(name: &str) -> Option<Launcher> {
        match name {
            "orterun" => Some(Launcher::Orte),
            "prterun" => Some(Launcher::Prrte),
            "mpiexec.hydra" => Some(Launcher::Hydra),
            "srun" => Some(Launcher::Slurm),
            "flux" => Some(Launcher::Flux),
            _ => None,
        }
    }

    /// The name of the kind, for messages.
    pub fn name(self) -> &'static str {
        match self {
            Launcher::Orte => "Open MPI",
            Launcher::Prrte => "Open MPI 5",
            Launcher::Hydra => "hydra",
            Launcher::Slurm => "Slurm",
            Launcher::Pals => "PALS",
            Launcher::Flux => "Flux",
        }
    }

    /// What passes these variables on, if the user says it.
    pub fn advice(self, names: &[&str]) -> String {
        match self {
            Launcher::Orte | Launcher::Prrte => format!("-x {}", names.join(" -x ")),
            Launcher::Hydra => format!("-genvlist {}", names.join(",")),
            Launcher::Slurm => format!("--export=ALL,{}", names.join(",")),
            Launcher::Pals => format!("--envlist {}", names.join(",")),
            Launcher::Flux => format!("--env={}", names.join(" --env=")),
        }
    }
}
