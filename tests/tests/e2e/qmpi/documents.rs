//! What the documents of QMPI print: their programs and prototypes compile and run (docs/maintainers/conformance.md).

use qmpi_tests::{Job, Mpi, Trial, Verdict, compile, on_each_mpi, program};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("example_of_the_slides", &Mpi::ALL, of_the_slides),
        ("prototypes_of_the_draft", &Mpi::ALL, of_the_draft),
    ])
}

fn tool(mpi: Mpi, name: &str, file: &str) -> String {
    format!("{name}={}", compile::companion(mpi, file).display())
}

fn ring(mpi: Mpi, list: &str) -> Job {
    Job::new(mpi, 2, &program(mpi, "ring.c")).by_hand(list)
}

/// Each rank of the program sends and receives three times, through every layer.
fn of_the_slides(mpi: Mpi) -> Verdict {
    let tool = tool(mpi, "example", "slides_example.c");
    for (list, times) in [(tool.clone(), 1), (format!("{tool},{tool}"), 2)] {
        let outcome = ring(mpi, &list).run();
        outcome.expect(0, &["done".to_owned()])?;
        let line = format!("example: {0} sends, {0} receives", 3 * times);
        if outcome.count(&line) != 2 {
            return Err(format!("not twice: {line}\n{}", outcome.report()).into());
        }
    }
    Ok(())
}

fn of_the_draft(mpi: Mpi) -> Verdict {
    let draft = tool(mpi, "draft", "draft_example.c");
    let pmpi = compile::companion(mpi, "count_pmpi.c").display().to_string();
    let outcome = ring(mpi, &format!("{draft},{pmpi},{draft}")).run();
    for id in [1, 3] {
        let line = format!("draft {id}: 3 sends, 3 callers");
        if outcome.count(&line) != 2 {
            return Err(format!("not twice: {line}\n{}", outcome.report()).into());
        }
    }
    Ok(outcome.expect(0, &["done".to_owned()])?)
}
