//! A message: fields behind each other, written and read back.

use crate::{LIMIT, TOKEN};

/// Bytes of the length before the fields.
const HEAD: usize = 4;

/// The bytes of a message: the fields that come behind the token. One that does not fit is left out with all that follow.
pub fn write(token: &str, fields: &[&[u8]]) -> Vec<u8> {
    let mut bytes = vec![0; HEAD];
    for field in [token.as_bytes()].iter().chain(fields) {
        if bytes.len() + field.len() >= LIMIT {
            break;
        }
        bytes.extend_from_slice(field);
        bytes.push(0);
    }
    let size = (bytes.len() - HEAD) as u32;
    bytes[..HEAD].copy_from_slice(&size.to_le_bytes());
    bytes
}

/// A message that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// The code of `MPI_Abort`, if the process has called it. Otherwise the process says that it is there.
    pub abort: Option<i32>,
    /// Its number in its own namespace of numbers.
    pub pid: i32,
    /// Its host.
    pub host: &'a str,
    /// Its executable.
    pub executable: &'a str,
    variables: &'a str,
}

/// What has come so far of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    /// There is more to come.
    Incomplete,
    /// It is none, or the token is wrong.
    Refused,
    /// All of it.
    Complete(Message<'a>),
}

impl<'a> Message<'a> {
    /// Reads what has come. Whether the token is right takes the same time wherever it is wrong.
    pub fn read(bytes: &'a [u8], token: &str) -> Received<'a> {
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else { return Received::Incomplete };
        let size = u32::from_le_bytes(*head) as usize;
        if size > LIMIT || size <= TOKEN {
            return Received::Refused;
        }
        // The token is looked at as soon as it is there.
        if rest.len() >= TOKEN && !is_same(&rest[..TOKEN], token.as_bytes()) {
            return Received::Refused;
        }
        let Some(fields) = rest.get(..size) else { return Received::Incomplete };
        fields.get(TOKEN..).and_then(Message::of_fields).map_or(Received::Refused, Received::Complete)
    }

    fn of_fields(fields: &'a [u8]) -> Option<Message<'a>> {
        let text = std::str::from_utf8(fields).ok()?.strip_prefix('\0')?.strip_suffix('\0')?;
        let mut fields = text.splitn(5, '\0');
        let abort = Some(fields.next()?).filter(|code| !code.is_empty()).map(str::parse).transpose().ok()?;
        let pid = fields.next()?.parse().ok()?;
        let (host, executable) = (fields.next()?, fields.next()?);
        Some(Message { abort, pid, host, executable, variables: fields.next().unwrap_or_default() })
    }

    /// The value of a variable of the process.
    pub fn variable(&self, name: &str) -> Option<&'a str> {
        self.variables.split('\0').find_map(|variable| variable.strip_prefix(name)?.strip_prefix('='))
    }
}

/// Compares all bytes, wherever they differ.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "0123456789abcdef0123456789abcdef";

    fn written() -> Vec<u8> {
        let fields: [&[u8]; 6] = [b"-2147483648", b"10", b"host", b"/bin/a b", b"PMI_RANK=3", b"PMI_SIZE=4"];
        write(OWN, &fields)
    }

    #[test]
    fn what_is_written_is_read() {
        let all = written();
        for len in 0..all.len() {
            assert_eq!(Message::read(&all[..len], OWN), Received::Incomplete, "{len}");
        }
        let Received::Complete(message) = Message::read(&all, OWN) else { panic!("a message") };
        assert_eq!((message.abort, message.pid), (Some(i32::MIN), 10));
        assert_eq!((message.host, message.executable), ("host", "/bin/a b"));
        assert_eq!((message.variable("PMI_RANK"), message.variable("PMI_SIZE")), (Some("3"), Some("4")));
        assert_eq!(message.variable("PMI"), None);
    }

    #[test]
    fn another_token_is_refused_as_soon_as_it_is_there() {
        let all = written();
        let other = "0123456789abcdef0123456789abcdee";
        assert_eq!(Message::read(&all[..4 + TOKEN], other), Received::Refused);
        assert_eq!(Message::read(&all, ""), Received::Refused);
        assert_eq!(Message::read(&[255; 8], OWN), Received::Refused);
        assert_eq!(Message::read(b"GET / HTTP/1.1\r\n", OWN), Received::Refused);
    }

    #[test]
    fn fields_that_do_not_fit_are_left_out() {
        let field: &[u8] = &[b'x'; LIMIT / 2];
        assert_eq!(write(OWN, &[field; 3]).len(), HEAD + 33 + LIMIT / 2 + 1);
        let rest = LIMIT - HEAD - 33;
        assert_eq!(write(OWN, &[&vec![b'x'; rest - 1]]).len(), LIMIT);
        assert_eq!(write(OWN, &[&vec![b'x'; rest]]).len(), LIMIT - rest);
    }
}
