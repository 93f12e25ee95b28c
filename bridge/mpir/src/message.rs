//! A message: fields behind each other, written into memory of the caller's, and read back.

use crate::{LIMIT, TOKEN};

/// What a process says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It is there.
    Rank,
    /// It has called `MPI_Abort`.
    Abort,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Kind::Rank => "rank",
            Kind::Abort => "abort",
        }
    }
}

/// A message that is being written. A field that does not fit is left out with all that follow.
#[derive(Debug)]
pub struct Writer<'a> {
    bytes: &'a mut [u8; LIMIT],
    len: usize,
}

/// Bytes of the length before the fields.
const HEAD: usize = 4;

impl<'a> Writer<'a> {
    /// Begins in `bytes`.
    pub fn new(bytes: &'a mut [u8; LIMIT], token: &[u8], kind: Kind) -> Writer<'a> {
        let mut writer = Writer { bytes, len: HEAD };
        writer.field(&[token]);
        writer.field(&[kind.name().as_bytes()]);
        writer
    }

    /// Adds a field, which consists of `parts`.
    pub fn field(&mut self, parts: &[&[u8]]) {
        let size: usize = parts.iter().map(|part| part.len()).sum();
        let Some(room) = self.bytes.get_mut(self.len..self.len + size + 1) else { return };
        let bytes = parts.iter().copied().flatten().chain(&[0]);
        for (place, byte) in room.iter_mut().zip(bytes) {
            *place = *byte;
        }
        self.len += size + 1;
    }

    /// Adds a number.
    pub fn number(&mut self, number: i32) {
        let mut digits = [0; 11];
        let mut place = digits.len();
        let mut rest = number.unsigned_abs();
        loop {
            place -= 1;
            if let Some(digit) = digits.get_mut(place) {
                *digit = b'0' + (rest % 10) as u8;
            }
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let sign: &[u8] = if number < 0 { b"-" } else { b"" };
        self.field(&[sign, digits.get(place..).unwrap_or_default()]);
    }

    /// All of it, to be sent.
    pub fn finish(self) -> &'a [u8] {
        let size = ((self.len - HEAD) as u32).to_le_bytes();
        for (place, byte) in self.bytes.iter_mut().zip(size) {
            *place = byte;
        }
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// A message that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message<'a> {
    /// What the process says.
    pub kind: Kind,
    /// Of `MPI_Abort`.
    pub code: i32,
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
    #[must_use]
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
        let text = core::str::from_utf8(fields).ok()?.strip_prefix('\0')?.strip_suffix('\0')?;
        let mut fields = text.splitn(6, '\0');
        let name = fields.next()?;
        let kind = [Kind::Rank, Kind::Abort].into_iter().find(|kind| kind.name() == name)?;
        let (code, pid) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let (host, executable) = (fields.next()?, fields.next()?);
        Some(Message { kind, code, pid, host, executable, variables: fields.next().unwrap_or_default() })
    }

    /// The value of a variable of the process.
    #[must_use]
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

    fn written(bytes: &mut [u8; LIMIT]) -> &[u8] {
        let mut writer = Writer::new(bytes, OWN.as_bytes(), Kind::Abort);
        writer.number(-2147483648);
        writer.number(10);
        writer.field(&[b"host"]);
        writer.field(&[b"/bin/", b"a b"]);
        writer.field(&[b"PMI_RANK", b"=", b"3"]);
        writer.field(&[b"PMI_SIZE", b"=", b"4"]);
        writer.finish()
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = [0; LIMIT];
        let all = written(&mut bytes);
        for len in 0..all.len() {
            assert_eq!(Message::read(&all[..len], OWN), Received::Incomplete, "{len}");
        }
        let Received::Complete(message) = Message::read(all, OWN) else { panic!("a message") };
        assert_eq!((message.kind, message.code, message.pid), (Kind::Abort, i32::MIN, 10));
        assert_eq!((message.host, message.executable), ("host", "/bin/a b"));
        assert_eq!((message.variable("PMI_RANK"), message.variable("PMI_SIZE")), (Some("3"), Some("4")));
        assert_eq!(message.variable("PMI"), None);
    }

    #[test]
    fn another_token_is_refused_as_soon_as_it_is_there() {
        let mut bytes = [0; LIMIT];
        let all = written(&mut bytes);
        let other = "0123456789abcdef0123456789abcdee";
        assert_eq!(Message::read(&all[..4 + TOKEN], other), Received::Refused);
        assert_eq!(Message::read(all, ""), Received::Refused);
        assert_eq!(Message::read(&[255; 8], OWN), Received::Refused);
        assert_eq!(Message::read(b"GET / HTTP/1.1\r\n", OWN), Received::Refused);
    }

    #[test]
    fn fields_that_do_not_fit_are_left_out() {
        let mut bytes = [0; LIMIT];
        let mut writer = Writer::new(&mut bytes, OWN.as_bytes(), Kind::Rank);
        for _ in 0..3 {
            writer.field(&[&[b'x'; LIMIT / 2]]);
        }
        assert_eq!(writer.finish().len(), 4 + 33 + 5 + LIMIT / 2 + 1);
    }
}
