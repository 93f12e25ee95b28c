//! Sums up what callgrind counted for each function of calls.c.

use std::collections::HashMap;

/// Calls that the program makes of each function (calls.c).
const CALLS: f64 = 2000.0;

/// Instructions of a call.
#[derive(Debug, PartialEq)]
pub(crate) struct Counted {
    pub(crate) function: String,
    /// In libqmpi.
    pub(crate) ours: f64,
    pub(crate) other: f64,
}

/// Of the dumps of one process, in their order. Each was written before the next function's turn began, so it belongs to the one whose
/// turn came before; what is not a function of MPI is left out.
pub(crate) fn sum(dumps: &[String]) -> Vec<Counted> {
    let mut objects = HashMap::new();
    let mut current = String::new();
    let mut counted = Vec::new();
    for dump in dumps {
        let after = current.clone();
        let (ours, other) = costs(dump, &mut objects, &mut current);
        if let Some(name) = after.strip_prefix("call_").filter(|name| name.starts_with(char::is_uppercase)) {
            counted.push(Counted { function: name.to_owned(), ours: ours / CALLS, other: other / CALLS });
        }
    }
    counted
}

/// Instructions in libqmpi and in others. A cost line is `LINE COST`; the one after `calls=` is inclusive, hence skipped.
fn costs(dump: &str, objects: &mut HashMap<String, String>, current: &mut String) -> (f64, f64) {
    let (mut ours, mut other, mut in_ours, mut inclusive) = (0.0, 0.0, false, false);
    for line in dump.lines() {
        if let Some(name) = line.strip_prefix("desc: Trigger: --dump-before=") {
            *current = name.to_owned();
        } else if let Some(object) = line.strip_prefix("ob=") {
            in_ours = name_of(object, objects).contains("libqmpi");
        } else if let Some(object) = line.strip_prefix("cob=") {
            name_of(object, objects);
        } else if line.starts_with("calls=") {
            inclusive = true;
        } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) && !std::mem::take(&mut inclusive)
        {
            let cost: f64 = line.split(' ').nth(1).and_then(|cost| cost.parse().ok()).unwrap_or(0.0);
            *(if in_ours { &mut ours } else { &mut other }) += cost;
        }
    }
    (ours, other)
}

/// `(ID) NAME` where an object is named first, and `(ID)` from then on.
fn name_of(object: &str, objects: &mut HashMap<String, String>) -> String {
    let (id, name) = object.split_once(' ').unwrap_or((object, ""));
    if !name.is_empty() {
        objects.insert(id.to_owned(), name.to_owned());
    }
    objects.get(id).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_belongs_to_the_function_before() {
        let dumps = [
            "desc: Trigger: --dump-before=call_Recv\nob=(1) /program\n1 9000\n",
            "desc: Trigger: --dump-before=call_cycle\nob=(1)\nfn=(3)\n+2 4000\ncob=(2) /x/libqmpi.so\ncalls=1 0\n* 99\n-1 2000\nob=(2)\n5 1000\n",
            "desc: Trigger: Program termination\nob=(1)\n1 7000\n",
        ];
        let counted = sum(&dumps.map(str::to_owned));
        assert_eq!(counted, [Counted { function: "Recv".to_owned(), ours: 0.5, other: 3.0 }]);
    }
}
