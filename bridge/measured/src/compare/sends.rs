//! Statuses of requests that send: MPI leaves them undefined but for what cancels (MPI 5.0, 3.7.3), so they hold what was in the program's memory
//! before, which differs between two runs for no fault of a tool.

use std::collections::HashSet;

use qmpi_abi::parameters::Kind;

use crate::trace::{Argument, Decoded, RecordedCall};

/// Requests of one rank that send, as values of arguments show them. MPICH has one handle for all that are complete from the start: it is of the
/// kind that was made last.
#[derive(Default)]
pub(super) struct Sends(HashSet<String>);

impl Sends {
    /// Notes what a call makes.
    pub(super) fn note(&mut self, call: &RecordedCall) {
        let requests =
            call.arguments.iter().filter(|argument| argument.kind == Kind::Request && argument.before.is_none());
        for made in requests.flat_map(|argument| &argument.after).flat_map(Decoded::elements) {
            let name = call.function.name().to_ascii_lowercase();
            let made = format!("{made:?}");
            if name.contains("send") && !name.contains("sendrecv") {
                self.0.insert(made);
            } else {
                self.0.remove(&made);
            }
        }
    }

    /// What a call has stored in a status argument, without what is undefined.
    pub(super) fn defined(&self, call: &RecordedCall, statuses: &Argument) -> Option<Decoded> {
        let after = statuses.after.as_ref().filter(|_| statuses.kind == Kind::Status)?;
        let of_kind = |kind: Kind| call.arguments.iter().find(|argument| argument.kind == kind);
        let requests = of_kind(Kind::Request)?.before.as_ref().map(Decoded::elements)?;
        // Of `MPI_Waitany` and the like: which of the requests each status is of.
        let indices = of_kind(Kind::Index).and_then(|argument| argument.after.as_ref()).map(Decoded::elements);
        let is_of_send = |place: usize| {
            let request = match indices.map(|indices| indices.get(place)) {
                None => requests.get(place),
                Some(Some(Decoded::Number(index))) => {
                    usize::try_from(*index).ok().and_then(|index| requests.get(index))
                }
                Some(_) => None,
            };
            request.is_some_and(|request| self.0.contains(&format!("{request:?}")))
        };
        let known = |place: usize, value: &Decoded| {
            if is_of_send(place) { Decoded::Text("of a send".to_owned()) } else { value.clone() }
        };
        Some(match after {
            Decoded::List { known: all, all: count } => Decoded::List {
                known: all.iter().enumerate().map(|(place, value)| known(place, value)).collect(),
                all: *count,
            },
            one => known(0, one),
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use qmpi_abi::FnId;
    use qmpi_abi::parameters::Direction;

    use super::*;

    fn argument(name: &'static str, kind: Kind, before: Option<Decoded>, after: Option<Decoded>) -> Argument {
        Argument { name, kind, direction: Direction::Out, value: Decoded::Address(4096), before, after }
    }

    fn call(function: &str, arguments: Vec<Argument>) -> RecordedCall {
        RecordedCall {
            thread: 0,
            sequence: 0,
            depth: 0,
            function: FnId::by_name(function).unwrap(),
            caller: 0,
            layer: 1,
            start_ns: 0,
            end_ns: None,
            duration_ns: None,
            arguments,
            result: None,
            site: None,
        }
    }

    fn request(number: u32) -> Decoded {
        Decoded::Object(format!("request#{number}"))
    }

    fn status(source: i64) -> Decoded {
        let (source, tag) = (Box::new(Decoded::Number(source)), Box::new(Decoded::Number(7)));
        Decoded::Status { source, tag, bytes: Some(8), cancelled: false }
    }

    fn list(known: Vec<Decoded>) -> Decoded {
        Decoded::List { all: known.len() as u64, known }
    }

    #[test]
    fn statuses_of_sends_are_not_compared() {
        let mut sends = Sends::default();
        for (number, function) in [(1, "MPI_Irecv"), (2, "MPI_Isend"), (3, "MPI_Send_init"), (4, "MPI_Isendrecv")] {
            sends.note(&call(function, vec![argument("request", Kind::Request, None, Some(request(number)))]));
        }
        let requests = || argument("requests", Kind::Request, Some(list((1..=4).map(request).collect())), None);
        let statuses =
            |count: i64| argument("statuses", Kind::Status, None, Some(list((0..count).map(status).collect())));
        let of_send = || Decoded::Text("of a send".to_owned());

        let waitall = call("MPI_Waitall", vec![requests(), statuses(4)]);
        let defined = sends.defined(&waitall, &waitall.arguments[1]);
        assert_eq!(defined, Some(list(vec![status(0), of_send(), of_send(), status(3)])));
        assert_eq!(sends.defined(&waitall, &waitall.arguments[0]), None, "no status");

        let indices = argument("indices", Kind::Index, None, Some(list(vec![Decoded::Number(2), Decoded::Number(0)])));
        let waitsome = call("MPI_Waitsome", vec![requests(), indices, statuses(2)]);
        assert_eq!(sends.defined(&waitsome, &waitsome.arguments[2]), Some(list(vec![of_send(), status(1)])));

        let index = argument("indx", Kind::Index, None, Some(Decoded::Number(1)));
        let waitany =
            call("MPI_Waitany", vec![requests(), index, argument("status", Kind::Status, None, Some(status(5)))]);
        assert_eq!(sends.defined(&waitany, &waitany.arguments[2]), Some(of_send()));

        // The same handle for another request.
        sends.note(&call("MPI_Irecv", vec![argument("request", Kind::Request, None, Some(request(2)))]));
        let wait = vec![
            argument("request", Kind::Request, Some(request(2)), None),
            argument("status", Kind::Status, None, Some(status(6))),
        ];
        let wait = call("MPI_Wait", wait);
        assert_eq!(sends.defined(&wait, &wait.arguments[1]), Some(status(6)));
    }
}
