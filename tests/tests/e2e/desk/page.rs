//! The page of `qmpi report --html` in a real browser: what a user sees, clicks and types, with jobs whose numbers are known.

use std::path::PathBuf;
use std::process::Command;

use libtest_mimic::Failed;
use qmpi_tests::browser::Browser;
use qmpi_tests::records::Records;
use qmpi_tests::{Trial, Verdict, product};
use serde_json::{Value, json};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    vec![
        Trial::test("complaints_are_seen", complaints_are_seen),
        Trial::test("planted_numbers", planted_numbers),
        Trial::test("sorting_and_filters", sorting_and_filters),
        Trial::test("light_and_dark", light_and_dark),
        Trial::test("keyboard", keyboard),
        Trial::test("screen_readers", screen_readers),
        Trial::test("names_are_text", names_are_text),
        Trial::test("a_thousand_ranks", a_thousand_ranks),
        Trial::test("a_thousand_ranks_are_cheap", a_thousand_ranks_are_cheap),
        Trial::test("narrow_windows", narrow_windows),
    ]
}

/// The page of a job, in a browser.
struct Page {
    browser: Browser,
    file: PathBuf,
    directory: tempfile::TempDir,
}

impl Page {
    fn of(records: &Records) -> Result<Page, Failed> {
        let directory = tempfile::tempdir()?;
        let file = directory.path().join("page.html");
        let report = directory.path().join("report");
        records.write(&report)?;
        let output = Command::new(product::command())
            .arg("report")
            .arg(&report)
            .arg(format!("--html={}", file.display()))
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || said.trim() != file.display().to_string() {
            return Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(Page { browser: Browser::start()?, file, directory })
    }

    fn open(&mut self, width: u32, is_dark: bool) -> Verdict {
        self.browser.open(&self.file, width, is_dark)
    }

    fn is(&mut self, expression: &str, expected: &Value) -> Verdict {
        let value = self.browser.evaluate(expression)?;
        if value == *expected {
            Ok(())
        } else {
            Err(format!("{expression}\nis {value}\nand should be {expected}").into())
        }
    }

    /// No error, and nothing loaded but the page.
    fn is_quiet(&mut self) -> Verdict {
        let complaints = self.browser.complaints()?.to_vec();
        let others: Vec<&String> = self
            .browser
            .requests()
            .iter()
            .filter(|url| !url.starts_with("file://") && !url.starts_with("data:"))
            .collect();
        if complaints.is_empty() && others.is_empty() && self.browser.requests().len() <= 2 {
            return Ok(());
        }
        Err(format!("{complaints:?}\n{:?}", self.browser.requests()).into())
    }
}

/// The visible rows of a table, a list of cells each.
fn rows(table: &str) -> String {
    format!(
        "[...document.querySelectorAll('#{table} tbody tr')].filter(row => !row.hidden).map(row => [...row.cells].map(cell => cell.innerText.trim()))"
    )
}

fn column(table: &str, column: usize) -> String {
    format!("{}.map(row => row[{column}])", rows(table))
}

fn sort_button(table: &str, column: usize) -> String {
    format!("#{table} thead th:nth-child({}) .sort", column + 1)
}

/// What `is_quiet` would miss otherwise.
fn complaints_are_seen() -> Verdict {
    let directory = tempfile::tempdir()?;
    let mut browser = Browser::start()?;
    for (text, requests) in [
        ("<script>undefined_function()</script>", 1),
        ("<script>console.error('planted')</script>", 1),
        ("<script src=none.js></script>", 2),
    ] {
        let file = directory.path().join("page.html");
        std::fs::write(&file, format!("<!DOCTYPE html><link rel=icon href=data:,>{text}"))?;
        let before = browser.complaints()?.len();
        browser.open(&file, 800, false)?;
        if browser.complaints()?.len() == before
            || browser.requests().iter().filter(|url| !url.starts_with("data:")).count() != requests
        {
            return Err(format!("{text}: {:?} {:?}", browser.complaints()?.to_vec(), browser.requests()).into());
        }
    }
    Ok(())
}

/// Four ranks, of which rank 2 is ten times as slow in MPI_Send as the others.
fn planted_numbers() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    page.open(1280, false)?;
    page.is("document.title", &json!("What the tools cost: outer, inner"))?;
    page.is(
        &format!("{}.map(row => row.slice(0, 4))", rows("table-layers")),
        &json!([
            ["outer", "4,428", "4,428", "26.48 ms"],
            ["inner", "4,428", "4,428", "6.60 ms"],
            ["MPI", "4,428", "0", "572.80 ms"],
        ]),
    )?;
    page.is(
        &format!("{}.slice(0, 2).map(row => row.slice(0, 4))", rows("table-functions")),
        &json!([["MPI_Send", "MPI", "4,000", "520.00 ms"], ["MPI_Recv", "MPI", "400", "36.00 ms"],]),
    )?;
    page.is(
        &format!(
            "{}.filter(row => row[0] === 'MPI_Send' && row[1] === 'outer').map(row => row.slice(7))",
            rows("table-functions")
        ),
        &json!([["425.00 µs", "2.00 ms", "20.00 ms", "2", ""]]),
    )?;
    page.is(
        &rows("table-calls"),
        &json!([
            ["MPI_Send", "4,000", "4,000", "4,000", "4,000"],
            ["MPI_Recv", "400", "400", "400", "400"],
            ["MPI_Bcast", "28", "28", "28", "28"],
        ]),
    )?;
    page.is(
        &rows("table-bytes"),
        &json!([
            ["MPI_Recv", "received", "1.60 GB", "1.60 GB", "1.60 GB → 3.20 GB", "3.20 GB"],
            ["MPI_Send", "sent", "4.00 MB", "4.00 MB", "4.00 MB → 8.00 MB", "8.00 MB"],
        ]),
    )?;
    page.is("document.querySelectorAll('#table-bytes .changed').length", &json!(2))?;
    page.is(
        "[...document.querySelectorAll('.figure .arrow text')].map(text => text.textContent)",
        &json!(["4,428 calls", "4,428 calls", "4,428 calls"]),
    )?;
    page.is(
        "[...document.querySelectorAll('.figure .name')].map(text => text.textContent)",
        &json!(["the program", "outer", "inner", "MPI"]),
    )?;
    page.is("document.querySelector('.lead').innerText.startsWith('The most expensive tool is outer: 26.48 ms on all ranks together')",
        &json!(true))?;
    // 40 µs are below 65.54 µs, and a tenth of the calls take eight times as long; the slow rank's take ten times as long.
    page.is("document.querySelector('#distribution-of').selectedOptions[0].textContent", &json!("MPI_Send in MPI"))?;
    page.is("[...document.querySelectorAll('#distribution-table tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))",
        &json!([["65.54 µs", "2,700"], ["524.29 µs", "1,200"], ["4.19 ms", "100"]]))?;
    page.is("document.querySelectorAll('#distribution-figure rect').length", &json!(3))?;
    page.is(
        "document.querySelector('#missing ~ ul').innerText.includes('All ranks are in the report.')",
        &json!(true),
    )?;
    page.browser.picture("light-4")?;
    page.is_quiet()
}

fn sorting_and_filters() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    page.open(1280, false)?;
    let order = column("table-layers", 0);
    page.browser.click(&sort_button("table-layers", 3))?;
    page.is(&order, &json!(["MPI", "outer", "inner"]))?;
    page.browser.click(&sort_button("table-layers", 3))?;
    page.is(&order, &json!(["inner", "outer", "MPI"]))?;
    page.is(
        "[...document.querySelectorAll('#table-layers th[aria-sort]')].map(head => head.getAttribute('aria-sort'))",
        &json!(["none", "none", "ascending", "none", "none", "none", "none", "none"]),
    )?;

    page.browser.click("form[data-for=table-functions] input")?;
    page.browser.write("send")?;
    page.is(&column("table-functions", 1), &json!(["MPI", "outer", "inner"]))?;
    page.is("document.querySelector('form[data-for=table-functions] output').textContent", &json!("3 of 9 rows"))?;
    page.browser.click(&sort_button("table-functions", 1))?;
    page.is(
        &format!("{}.map(row => [row[0], row[1], row[3]])", rows("table-functions")),
        &json!(
            [["MPI_Send", "inner", "6.50 ms"], ["MPI_Send", "MPI", "520.00 ms"], ["MPI_Send", "outer", "26.00 ms"],]
        ),
    )?;
    page.browser.evaluate(
        "(() => { const select = document.querySelector('form[data-for=table-functions] select'); select.value = 'outer';
            select.dispatchEvent(new Event('input', {bubbles: true})); })()",
    )?;
    page.is(&format!("{}.map(row => row[3])", rows("table-functions")), &json!(["26.00 ms"]))?;

    page.browser.click(&sort_button("table-bytes", 2))?;
    page.browser.click(&sort_button("table-bytes", 2))?;
    page.is(&column("table-bytes", 0), &json!(["MPI_Send", "MPI_Recv"]))?;
    page.browser.click("form[data-for=table-calls] input[type=checkbox]")?;
    page.is(&rows("table-calls"), &json!([]))?;
    // The only row that is left leads to its call times.
    page.browser.click("#table-functions tr:not([hidden]) .spark")?;
    page.is(
        "document.querySelector('#distribution-figure svg').getAttribute('aria-label')",
        &json!("4,000 calls of MPI_Send in outer by their time"),
    )?;
    page.is_quiet()
}

fn light_and_dark() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    let ground = "getComputedStyle(document.body).backgroundColor";
    let pressed = "document.querySelector('#theme').getAttribute('aria-pressed')";
    let (light, dark) = (json!("rgb(245, 246, 248)"), json!("rgb(17, 21, 27)"));
    page.open(1280, true)?;
    page.is(ground, &dark)?;
    page.is(pressed, &json!("true"))?;
    page.browser.picture("dark-4")?;
    page.browser.click("#theme")?;
    page.is(ground, &light)?;
    page.is(pressed, &json!("false"))?;
    page.browser.click("#theme")?;
    page.is(ground, &dark)?;
    page.browser.evaluate("localStorage.clear()")?;
    page.open(1280, false)?;
    page.is(ground, &light)?;
    for is_dark in [false, true] {
        page.open(1280, is_dark)?;
        let poor = page.browser.evaluate(CONTRAST)?;
        if poor != json!([]) {
            return Err(format!("dark: {is_dark}, too little contrast: {poor}").into());
        }
    }
    page.is_quiet()
}

/// Texts with less than 4.5 between them and what is behind (WCAG 2, 1.4.3).
const CONTRAST: &str = "(() => {
    const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
    const luminance = colour => numbers(colour).slice(0, 3).map(value => value / 255)
        .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, place) => sum + value * [0.2126, 0.7152, 0.0722][place], 0);
    const behind = element => {
        for (; element; element = element.parentElement) {
            const colour = numbers(getComputedStyle(element).backgroundColor);
            if (colour.length < 4 || colour[3] > 0) return getComputedStyle(element).backgroundColor;
        }
        return 'rgb(255, 255, 255)';
    };
    const poor = new Set();
    for (const element of document.querySelectorAll('body *')) {
        if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim()) || !element.checkVisibility()) continue;
        const style = getComputedStyle(element);
        const colour = element instanceof SVGElement ? style.fill : style.color;
        const [one, other] = [luminance(colour), luminance(behind(element.closest('svg')?.parentElement ?? element))];
        const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
        if (ratio < 4.5) poor.add(`${element.tagName} ${element.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
    }
    return [...poor];
})()";

/// Everything is reached by Tab, shows the focus, and works with Enter and arrows.
fn keyboard() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    page.open(1280, false)?;
    let mut reached = Vec::new();
    for _ in 0..150 {
        page.browser.press("Tab")?;
        let at = page.browser.evaluate(
            "(() => { const element = document.activeElement; const style = getComputedStyle(element);
                return [element.className || element.id || element.tagName, element.textContent.trim().slice(0, 20),
                    style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2, element.tagName]; })()",
        )?;
        if at[3] == "BODY" {
            break;
        }
        if at[2] != json!(true) {
            return Err(format!("the focus cannot be seen on {at}").into());
        }
        reached.push(at.clone());
        if at[0] == "sort"
            && at[1] == "Own time"
            && page.browser.evaluate("document.activeElement.closest('table').id")? == "table-layers"
        {
            page.browser.press("Enter")?;
            page.is(&column("table-layers", 0), &json!(["MPI", "outer", "inner"]))?;
        }
        if at[3] == "CANVAS" && page.browser.evaluate("document.activeElement.closest('tr').dataset.layer")? == "outer"
        {
            page.browser.press("ArrowRight")?;
            page.browser.press("ArrowRight")?;
            page.is(
                "document.querySelector('#heat-reading').textContent",
                &json!("outer. Rank 2: 20.12 ms, 9.49 times the median"),
            )?;
            page.is(
                "document.activeElement.getAttribute('aria-valuetext')",
                &json!("Rank 2: 20.12 ms, 9.49 times the median"),
            )?;
            page.browser.press("End")?;
            page.is("document.activeElement.getAttribute('aria-valuenow')", &json!("3"))?;
        }
    }
    let count = |name: &str| reached.iter().filter(|at| at[3] == name).count();
    let counts = ["BUTTON", "INPUT", "SELECT", "CANVAS", "SUMMARY"].map(count);
    // Radio buttons are one stop.
    if counts[0] < 25 || counts[1] < 4 || counts[2] != 3 || counts[3] != 3 || counts[4] != 2 {
        return Err(format!("{counts:?} of {reached:?}").into());
    }
    page.is_quiet()
}

/// Roles and names as the browser gives them to a screen reader.
fn screen_readers() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    page.open(1280, false)?;
    page.is(
        "[...document.querySelectorAll('h1, h2')].map(head => head.tagName).join(' ')",
        &json!("H1 H2 H2 H2 H2 H2 H2 H2 H2 H2"),
    )?;
    page.is("document.documentElement.lang", &json!("en"))?;
    page.is("[...document.querySelectorAll('table')].every(table => table.caption && [...table.querySelectorAll('th')].every(head => head.scope))",
        &json!(true))?;
    page.is("[...document.querySelectorAll('input, select')].every(input => input.labels.length)", &json!(true))?;
    page.is("[...document.querySelectorAll('a, button')].filter(element => !element.hidden).every(element => (element.getAttribute('aria-label') ?? element.textContent).trim())",
        &json!(true))?;
    page.is("[...document.querySelectorAll('section')].every(section => document.getElementById(section.getAttribute('aria-labelledby')))",
        &json!(true))?;
    page.is("new Set([...document.querySelectorAll('[id]')].map(element => element.id)).size === document.querySelectorAll('[id]').length", &json!(true))?;
    page.is("[...document.querySelectorAll('svg')].every(svg => svg.getAttribute('aria-hidden') || svg.getAttribute('aria-label'))", &json!(true))
}

/// Names of layers that are made of the page's own language. Those of functions are the table's.
fn names_are_text() -> Verdict {
    let planted = [
        "<script>document.title = 'taken'</script>",
        "</script><img src=x onerror=\"document.title='taken'\">",
        "--><b id=planted>&amp;'\"</style></title>{{ 7 * 7 }}",
    ];
    let mut records = Records::small(2);
    records.layers = planted.iter().map(|name| (*name).to_owned()).collect();
    for function in &mut records.functions {
        function.own_ns.insert(0, 100);
    }
    let mut page = Page::of(&records)?;
    page.open(1280, false)?;
    page.is("document.title.startsWith('What the tools cost: <script>document.title')", &json!(true))?;
    page.is(&column("table-layers", 0), &json!([planted[0], planted[1], planted[2], "MPI"]))?;
    page.is("document.querySelectorAll('#planted, img').length", &json!(0))?;
    page.is("[...document.querySelectorAll('.figure title')].some(title => title.textContent.includes(\"document.title = 'taken'</script>\"))", &json!(true))?;
    page.browser.click(&sort_button("table-functions", 1))?;
    page.is(&format!("{}[0]", column("table-functions", 1)), &json!(planted[2]))?;
    page.browser.click("#table-functions .spark")?;
    page.is(
        &format!(
            "document.querySelector('#distribution-figure svg').getAttribute('aria-label').includes({:?})",
            planted[2]
        ),
        &json!(true),
    )?;
    page.browser.point("#table-heat canvas", 0.3)?;
    page.is("document.querySelector('#heat-reading').textContent.startsWith(\"<script>document.title = 'taken'</script>. Rank 0: \")", &json!(true))?;
    page.browser.picture("planted")?;
    page.is_quiet()
}

/// Light, and the slow rank is found.
fn a_thousand_ranks() -> Verdict {
    let mut records = Records::large(1000);
    records.missing = vec![17, 400, 401, 402, 999];
    let mut page = Page::of(&records)?;
    let length = std::fs::metadata(&page.file)?.len();
    if length > 1_000_000 {
        return Err(format!("the page has {length} bytes").into());
    }
    page.open(1280, true)?;
    page.is("document.querySelector('.notice').innerText.startsWith('5 ranks are missing')", &json!(true))?;
    page.is(
        "document.querySelector('#missing ~ ul li').innerText.startsWith('Nothing is known of ranks 17, 400–402, 999:')",
        &json!(true),
    )?;
    page.is(&format!("{}[0].slice(5, 6)", rows("table-heat")), &json!(["333"]))?;
    // The strip shows the slow rank, and the missing ones.
    page.browser.point("#table-heat canvas", 333.5 / 1000.0)?;
    page.is("/^outer\\. Rank 333: [\\d.]+ s, \\d\\.\\d\\d times the median$/.test(document.querySelector('#heat-reading').textContent)", &json!(true))?;
    page.browser.point("#table-heat canvas", 401.5 / 1000.0)?;
    page.is("document.querySelector('#heat-reading').textContent", &json!("outer. Rank 401: no record"))?;
    page.is(&format!("{}.length", rows("table-functions")), &json!(25))?;
    page.browser.click("button[data-for=table-functions]")?;
    page.is(&format!("{}.length", rows("table-functions")), &json!(160))?;
    page.is("document.activeElement.tagName", &json!("TR"))?;
    page.open(1280, true)?;
    page.browser.picture("dark-1000")?;
    page.browser.click("#heat-options input[value=time]")?;
    page.browser.evaluate(
        "(() => { const select = document.querySelector('#heat-options select'); select.value = 'outer';
            select.dispatchEvent(new Event('input', {bubbles: true})); })()",
    )?;
    let functions = page.browser.evaluate(&format!("{}.length", rows("table-heat")))?;
    if functions.as_u64() < Some(10) {
        return Err(format!("{functions} functions of outer").into());
    }
    page.open(1280, false)?;
    page.browser.picture("light-1000")?;
    let _ = &page.directory;
    page.is_quiet()
}

/// Two seconds of a processor and 200 MB at most for the report of a thousand ranks, and a file of some hundred kilobytes for each host.
fn a_thousand_ranks_are_cheap() -> Verdict {
    let directory = tempfile::tempdir()?;
    Records::large(1000).write(directory.path())?;
    let sizes = std::fs::read_dir(directory.path())?.map(|entry| Ok(entry?.metadata()?.len()));
    let sizes: Vec<u64> = sizes.collect::<std::io::Result<_>>()?;
    for option in ["--html", "--json", "--all"] {
        let mut command = Command::new(product::command());
        command.arg("report").arg(directory.path()).arg(option).stdout(std::process::Stdio::null());
        let used = wait4::Wait4::wait4(&mut command.spawn()?)?;
        let time = used.rusage.utime + used.rusage.stime;
        let says = format!("{option}: {time:?}, {} MB, files of {sizes:?} bytes", used.rusage.maxrss / 1_000_000);
        if !used.status.success() || time.as_secs_f64() > 2.0 || used.rusage.maxrss > 200_000_000 {
            return Err(says.into());
        }
        println!("{says}");
    }
    // 160 links on each rank.
    if sizes.len() != 8 || sizes.iter().any(|size| *size > 300_000) {
        return Err(format!("files of {sizes:?} bytes").into());
    }
    Ok(())
}

/// The page itself never scrolls sideways: wide tables do within their frames.
fn narrow_windows() -> Verdict {
    let mut page = Page::of(&Records::small(4))?;
    for width in [320, 500, 800] {
        page.open(width, false)?;
        page.is("document.documentElement.scrollWidth <= innerWidth", &json!(true))?;
        page.browser.picture(&format!("narrow-{width}"))?;
    }
    page.is_quiet()
}
