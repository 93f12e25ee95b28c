//! The documentation as a book: all pages are in its table of contents, links lead somewhere, and the examples of the documentation and
//! of README print what stands below them.

use qmpi_tests::pages::Pages;
use qmpi_tests::{Mpi, Trial, Verdict, on_each_mpi, printed, product};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    let mut trials = on_each_mpi(&[
        ("in_60_seconds", &Mpi::ALL, in_60_seconds),
        ("stacks_by_example", &Mpi::ALL, stacks_by_example),
    ]);
    trials.push(Trial::test("contents", contents));
    trials.push(Trial::test("links", links));
    trials.push(Trial::test("what_is_wrong_is_found", what_is_wrong_is_found));
    trials
}

/// What README tells newcomers to type.
fn in_60_seconds(mpi: Mpi) -> Verdict {
    let root = product::root();
    let page = std::fs::read_to_string(root.join("README.md"))?;
    let section = page.lines().skip_while(|line| *line != "## In 60 seconds").skip(1);
    let section = section.take_while(|line| !line.starts_with("## "));
    printed::run(mpi, section, &format!("ln -s {root:?}/tests {root:?}/legacy-tools ."))
}

fn stacks_by_example(mpi: Mpi) -> Verdict {
    let root = product::root();
    let page = std::fs::read_to_string(root.join("docs/stacks-by-example.md"))?;
    let release = product::command().with_file_name("");
    printed::run(mpi, page.lines(), &format!("ln -s {root:?} src; PATH={release:?}:$PATH"))
}

fn contents() -> Verdict {
    none(Pages::read(product::root())?.not_in_contents())
}

fn links() -> Verdict {
    let pages = Pages::read(product::root())?;
    if pages.links() < 200 {
        return Err(format!("{} links are found in all of the documentation", pages.links()).into());
    }
    none(pages.broken_links(product::root()))
}

/// A check that finds nothing in pages with mistakes would be worth nothing.
fn what_is_wrong_is_found() -> Verdict {
    let root = tempfile::tempdir()?;
    std::fs::create_dir(root.path().join("docs"))?;
    std::fs::write(root.path().join("docs/a.md"), "")?;
    let text = "# A `b`, c_d!\n## Twice\n## Twice\n[1](#a-b-c_d) [2](#twice-1) [3](a.md) [4](../docs/a.md#twice) [5](https://x/y.md)\n\
                ```\n[6](no.md)\n```\n[7](no.md) [8](#no) [9](a.md#twice-2)\n";
    let contents = ("docs/SUMMARY.md", "- [A](a.md)\n- [Readme](../README.md)\n");
    let pages = Pages::of(&[("docs/a.md", text), ("docs/maintainers/b.md", ""), contents]);
    let wrong = (pages.broken_links(root.path()), pages.not_in_contents());
    let expected = (
        ["docs/SUMMARY.md: ../README.md", "docs/a.md: no.md", "docs/a.md: #no", "docs/a.md: a.md#twice-2"]
            .map(str::to_owned)
            .to_vec(),
        vec!["docs/maintainers/b.md: docs/SUMMARY.md does not name it".to_owned()],
    );
    if wrong == expected { Ok(()) } else { Err(format!("{wrong:?}").into()) }
}

fn none(wrong: Vec<String>) -> Verdict {
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}
