//! The benchmark itself: one round on the null MPI, from the tools to the page. It takes `libqmpi.so` from the release build.

use std::path::Path;
use std::process::{Command, Output};

/// Runs it to its end.
fn bench(dir: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_qmpi-bench"))
        .args(arguments)
        .env("QMPI_BENCH_DIR", dir)
        .output()
        .expect("the benchmark can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn one_round_makes_a_page() {
    let dir = tempfile::tempdir().expect("a directory");
    let (made, page) = (dir.path().join("made"), dir.path().join("page.md"));
    std::fs::write(&page, "# Costs\n<!-- results -->\nold\n<!-- end of results -->\n## After\n").expect("written");
    bench(&made, &["--once", "--no-build", "--markdown", &page.display().to_string()]);

    let text = std::fs::read_to_string(&page).expect("the page");
    for line in [
        "# Costs",
        "### null MPI: ns per call",
        "| libqmpi, 15 tools |",
        "| **both edges**, PMPI and QMPI in turn |",
        "### The interface: ns per call",
        "| PMPI tool, bridged |",
        "### Set-up of native instances, the generated tool",
        "| each further layer (1 to 10): null MPI | ≤ 1.00 ns |",
        "## After",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    assert!(!text.contains("old"), "{text}");
    for graph in ["layers-null", "layers-1000", "kinds"] {
        assert!(text.contains(&format!("(page/{graph}.svg)")), "{text}");
        let svg = std::fs::read_to_string(dir.path().join(format!("page/{graph}.svg"))).expect(graph);
        let document = roxmltree::Document::parse(&svg).expect(graph);
        assert!(document.descendants().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "desc"))), "{svg}");
    }
    let figures = std::fs::read_to_string(dir.path().join("page.tsv")).expect("the figures");
    assert!(figures.contains("null MPI: ns per call\tlibqmpi, 15 tools\tComm_rank, 2 arguments\t"), "{figures}");

    // The same measurements make the same report.
    let raw = made.join("measurements.tsv").display().to_string();
    let again = dir.path().join("again.md");
    bench(&made, &["--from", &raw, "--markdown", &again.display().to_string()]);
    let results =
        text.split("<!-- results -->").nth(1).and_then(|rest| rest.split("<!-- end").next()).expect("results");
    let again = std::fs::read_to_string(again).expect("the second page");
    assert_eq!(results.trim().replace("(page/", "(again/"), again.trim());
}

#[test]
fn what_is_not_whole_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let raw = dir.path().join("raw.tsv");
    std::fs::write(&raw, "calls\tnull\tnone\t1\tComm_rank\t2\n").expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_qmpi-bench"))
        .args(["--from", &raw.display().to_string()])
        .output()
        .expect("the benchmark can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("no measurement: calls\tnull"), "{said}");
}
