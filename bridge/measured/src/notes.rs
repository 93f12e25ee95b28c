//! What is to be known of the ranks of a measured job before its numbers are read: who is missing, who ended early, who is somebody else.

use crate::job::MeasuredJob;

/// Ranges that are named; a job may miss any of its ranks.
const RANGES: usize = 20;

/// Sentences, none for a job of which everything is known.
pub(crate) fn all(job: &MeasuredJob) -> Vec<String> {
    let mut notes = Vec::new();
    if !job.missing.is_empty() {
        let were = if job.missing.len() == 1 { "it was" } else { "they were" };
        let ranks = ranks(&job.missing);
        notes.push(format!(
            "Nothing is known of {ranks}: {were} killed, or ended without MPI_Finalize and exit handlers."
        ));
    }
    let (were, their) = if job.killed.len() == 1 { ("was", "its") } else { ("were", "their") };
    let killed = format!(
        "{were} killed, or ended without MPI_Finalize and exit handlers: {their} numbers are those of the calls up to then."
    );
    for (numbers, sentence) in [
        (&job.killed, &*killed),
        (&job.aborted, "called MPI_Abort: that call is not in the numbers, nor what came after it."),
        (&job.cut, "ended without exit handlers: what came after the call of MPI_Finalize is not in the numbers."),
    ] {
        if !numbers.is_empty() {
            notes.push(format!("{} {sentence}", capital(&ranks(numbers))));
        }
    }
    for world in job.worlds.iter().skip(1) {
        let numbers: Vec<u32> = (world.first..world.first + world.size).collect();
        notes.push(format!(
            "{} started later, by MPI_Comm_spawn or another launcher: {} of an MPI_COMM_WORLD of their own.",
            capital(&ranks(&numbers)),
            ranks(&(0..world.size).collect::<Vec<_>>())
        ));
    }
    match job.damaged {
        0 => {}
        1 => notes.push("One record is damaged: the disk was full, or the rank was killed while it wrote.".to_owned()),
        count => {
            notes.push(format!(
                "{count} records are damaged: the disk was full, or the ranks were killed while they wrote."
            ));
        }
    }
    notes
}

/// A text with a capital at its beginning.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// `rank 3`, `ranks 1, 4–7`
pub(crate) fn ranks(numbers: &[u32]) -> String {
    format!("{} {}", if numbers.len() == 1 { "rank" } else { "ranks" }, ranges(numbers, '–', RANGES))
}

/// Numbers in order, as few words as possible: `1, 4–7`, and of so many ranges at most.
pub(crate) fn ranges(numbers: &[u32], dash: char, most: usize) -> String {
    let mut texts = Vec::new();
    let mut rest = numbers;
    while let Some(first) = rest.first() {
        if texts.len() == most {
            texts.push(format!("and {} more", rest.len()));
            break;
        }
        let count = rest.iter().zip(*first..).take_while(|(number, expected)| **number == *expected).count();
        texts.push(if count == 1 { first.to_string() } else { format!("{first}{dash}{}", rest[count - 1]) });
        rest = &rest[count..];
    }
    texts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ranks() {
        assert_eq!(ranks(&[1]), "rank 1");
        assert_eq!(capital(&ranks(&[1, 3, 4, 5, 9])), "Ranks 1, 3–5, 9");
        let even: Vec<u32> = (0..100).map(|number| 2 * number).collect();
        assert!(ranges(&even, '–', RANGES).ends_with("36, 38, and 80 more"));
    }
}
