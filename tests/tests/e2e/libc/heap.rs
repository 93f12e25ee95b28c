//! A tool asks the dynamic linker, and for its environment, where the heap must not be used: in the handler of a signal that
//! interrupted `malloc`. What it asks must take no more of the heap than under plain `LD_PRELOAD`. And start-up takes none of it.

use qmpi_tests::against::{Failures, stacked};
use qmpi_tests::{Job, Mpi, Outcome, Trial, Verdict, compile, on_each_mpi, program, tool};

qmpi_tests::module!(trials);

fn trials() -> Vec<Trial> {
    on_each_mpi(&[
        ("alone", &Mpi::ALL, |mpi| asks(mpi, 1)),
        ("in_a_stack", &Mpi::ALL, |mpi| asks(mpi, 3)),
        // More than glibc has namespaces.
        ("clones", &Mpi::ALL, |mpi| asks(mpi, 20)),
        ("untouched", &Mpi::ALL, untouched),
    ])
}

/// Each of `count` instances, with another tool behind the first, takes no more of the heap than the tool does when it is preloaded.
fn asks(mpi: Mpi, count: usize) -> Verdict {
    let asks = compile::companion(mpi, "asks_at_any_time.c");
    let plugin = compile::companion(mpi, "opened_part.c");
    let job = Job::alone(mpi, &program(mpi, "interrupted_in_malloc.c"));
    let job = job.env("ASKS_PLUGIN", plugin.display().to_string()).env("COUNTER", "file=/dev/null");
    let right = ["interrupted_in_malloc: done".to_owned(), "asks: 0 wrong answers".to_owned()];
    let plain = job.clone().preload(&asks).run();
    plain.expect(0, &right)?;
    let allowed = Answer::all(&plain);
    if allowed.len() != QUESTIONS || allowed.iter().any(|answer| answer.calls.contains(&-1)) {
        return Err(format!("plain LD_PRELOAD: something was not asked\n{}", plain.report()).into());
    }
    let (asks, counter) = (asks.display().to_string(), tool(mpi, "counter").display().to_string());
    let mut tools = vec![asks.as_str(); count];
    if count > 1 {
        tools.insert(1, &counter);
    }
    let mut failures = Failures::default();
    for (mode, job) in stacked(&job, &tools) {
        let outcome = job.run();
        let answers = Answer::all(&outcome);
        let is_more = |answer: &&Answer| !allowed.iter().any(|allowed| answer.is_at_most(allowed));
        let more: Vec<&Answer> = answers.iter().filter(is_more).collect();
        let wrong = outcome.count(&right[1]) != count || answers.len() != count * QUESTIONS;
        let is_right = more.is_empty() && !wrong && outcome.said().is_empty();
        let reason = || format!("{mode}: more than under plain LD_PRELOAD: {more:#?}\n{}", outcome.report());
        let result = outcome.expect(0, &right);
        failures.note(result.and_then(|()| if is_right { Ok(()) } else { Err(reason()) }));
    }
    failures.verdict()
}

/// Loading a stack, running and ending it: no block of the C library's heap is taken by this project's libraries.
fn untouched(mpi: Mpi) -> Verdict {
    let counts = compile::companion(mpi, "counts_blocks.c");
    let [pmpi, exits, qmpi] =
        ["counter", "exit_handlers", "qmpi_counter"].map(|name| tool(mpi, name).display().to_string());
    let list = format!("{pmpi}:{exits}:counter={qmpi}");
    let job = Job::alone(mpi, &program(mpi, "ring.c")).by_hand(&list).preload(&counts);
    job.run().expect(0, &["done".to_owned(), "counts_blocks: 0 of libqmpi, some others".to_owned()])?;
    Ok(())
}

/// How many questions the tool asks.
const QUESTIONS: usize = 9;

/// What an instance says of one question: how many calls of the heap's functions it took, in its constructor, in a handler, and in a
/// handler while a message was pending.
#[derive(Debug)]
struct Answer {
    question: String,
    calls: Vec<i64>,
}

impl Answer {
    fn all(outcome: &Outcome) -> Vec<Answer> {
        let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix("asks: ")?.split_once(": "));
        let answer = |(question, rest): (&str, &str)| {
            let calls = rest.split(", ").map(|part| part.split(' ').next().and_then(|number| number.parse().ok()));
            Answer { question: question.to_owned(), calls: calls.map(|calls| calls.unwrap_or(i64::MAX)).collect() }
        };
        lines.map(answer).collect()
    }

    /// Is it about the same question, and is no number larger?
    fn is_at_most(&self, other: &Answer) -> bool {
        let pairs = || self.calls.iter().zip(&other.calls);
        self.question == other.question
            && self.calls.len() == other.calls.len()
            && pairs().all(|(own, other)| (0..=*other).contains(own))
    }
}
