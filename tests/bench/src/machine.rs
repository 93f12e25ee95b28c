//! The machine and its software, in words.

use std::fs::read_to_string;

use crate::mpi::Mpi;
use crate::process::first_line;

/// A line for each that does not change.
pub(crate) fn lines(mpis: &[Mpi]) -> Vec<String> {
    let mut lines = vec![processor(), system()];
    lines.extend(mpis.iter().filter(|mpi| !mpi.is_null()).map(library));
    lines
}

/// What other programs do.
pub(crate) fn load() -> String {
    let load = read_to_string("/proc/loadavg").unwrap_or_default();
    format!("load average at the start: {}", load.split(' ').next().unwrap_or_default())
}

fn processor() -> String {
    let info = read_to_string("/proc/cpuinfo").unwrap_or_default();
    let value = |name: &str| info.lines().find(|line| line.starts_with(name)).and_then(|line| line.split_once(": "));
    let model = value("model name").map_or("a processor without a name", |(_, model)| model);
    let virtual_one = value("flags").is_some_and(|(_, flags)| flags.split(' ').any(|flag| flag == "hypervisor"));
    let count = info.lines().filter(|line| line.starts_with("processor")).count();
    format!("{model}, {count} processors{}", if virtual_one { ", a virtual machine" } else { "" })
}

fn system() -> String {
    let word = |line: Option<String>| line.unwrap_or_default().rsplit(' ').next().unwrap_or_default().to_owned();
    let kernel = word(first_line("uname", &["-r"]));
    let glibc = word(first_line("getconf", &["GNU_LIBC_VERSION"]));
    format!("Linux {kernel}, glibc {glibc}, {}", first_line("cc", &["--version"]).unwrap_or_default())
}

fn library(mpi: &Mpi) -> String {
    let found = if mpi.is_open_mpi() {
        first_line("ompi_info", &["--version"])
    } else {
        let directory = mpi.compiler.parent().map(|dir| dir.join("mpichversion"));
        let program = directory.filter(|_| mpi.has_qmpi()).unwrap_or_else(|| "mpichversion".into());
        let line = first_line(&program.display().to_string(), &[]);
        let version = line.and_then(|line| line.strip_prefix("MPICH Version:").map(|rest| rest.trim().to_owned()));
        version.map(|version| format!("MPICH {version}{}", if mpi.has_qmpi() { ", with QMPI" } else { "" }))
    };
    found.unwrap_or_else(|| mpi.name.clone())
}
