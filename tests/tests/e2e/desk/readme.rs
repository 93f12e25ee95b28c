//! What README tells newcomers to type, as it is printed there.

use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, printed, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[("in_60_seconds", &Mpi::ALL, in_60_seconds)])
}

fn in_60_seconds(mpi: Mpi) -> Verdict {
    let root = product::root();
    let page = std::fs::read_to_string(root.join("README.md"))?;
    let section = page.lines().skip_while(|line| *line != "## In 60 seconds").skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    printed::run(mpi, section, &format!("ln -s {root:?}/tests {root:?}/legacy-tools ."))
}
