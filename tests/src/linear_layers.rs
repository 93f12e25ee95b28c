//! A thousand layers, of whatever kind: each is called once, and start-up is linear.

use std::time::Duration;

use libtest_mimic::Failed;

use crate::against::{Failures, number};
use crate::{Outcome, Verdict};

/// What a layer may take of start-up, in processor time.
const MOST: Duration = Duration::from_millis(5);

/// Has `run` run `asks_size.c` with so many layers that add one to the size, 0 and up to 1,000 (`QMPI_TEST_LAYERS`), and looks at what it
/// prints and takes.
///
/// # Errors
/// What is wrong.
pub fn check(title: &str, run: impl Fn(usize) -> Result<Outcome, Failed>) -> Verdict {
    let most = number("QMPI_TEST_LAYERS", 1000);
    let base = run(0)?.cpu;
    let mut failures = Failures::default();
    let mut each = Vec::new();
    for count in [1, most / 40, most / 4, most] {
        let outcome = run(count)?;
        let expected = format!("asks_size: {}", 1 + count);
        let right = outcome.expect(0, &[expected]).map_err(|reason| shortened(&format!("{count} layers: {reason}")));
        let is_right = right.is_ok() && outcome.said().is_empty();
        failures.note(right);
        if !is_right {
            break;
        }
        each.push(outcome.cpu.saturating_sub(base) / u32::try_from(count)?);
        println!("{title}: {count} layers, {:?} each", each[each.len() - 1]);
    }
    if let [.., quarter, all] = each[..]
        && each.len() == 4
    {
        if all > MOST {
            failures.note(Err(format!("{all:?} for each of {most} layers, not at most {MOST:?}")));
        }
        // Linear, with room for a machine that does something else meanwhile. Quadratic would be four times as long. What does grow is
        // glibc's part: it compares the names of a library that it loads with those of all objects in the namespace.
        if all > quarter * 5 / 2 + Duration::from_micros(200) {
            failures.note(Err(format!("{quarter:?} for each of {} layers, {all:?} for each of {most}", most / 4)));
        }
    }
    failures.verdict()
}

/// The list of a thousand layers may be in a message.
fn shortened(text: &str) -> String {
    text.chars().take(3000).collect()
}
