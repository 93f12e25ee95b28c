//! The value of [`crate::VARIABLE`], read back by code that must stay small: in bytes, and nothing in it can panic.

use crate::TOKEN;

/// Token and places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// What the process has to show.
    pub token: &'a [u8],
    /// The name of the Unix socket.
    pub name: &'a [u8],
    rest: &'a [u8],
}

/// Where a TCP socket listens: address and port, in the order of the network. Written in hexadecimal, 12 or 36 digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Endpoint {
    /// IPv4.
    V4([u8; 4], [u8; 2]),
    /// IPv6.
    V6([u8; 16], [u8; 2]),
}

impl<'a> Address<'a> {
    /// Reads a value; `None` where it is none.
    #[must_use]
    pub fn parse(value: &'a [u8]) -> Option<Address<'a>> {
        let (token, places) = split(value, b'@');
        let (name, rest) = split(places, b',');
        (token.len() == TOKEN && !name.is_empty()).then_some(Address { token, name, rest })
    }

    /// Where ranks of other hosts report.
    pub fn of_network(&self) -> impl Iterator<Item = Endpoint> + use<'a> {
        self.rest.split(|byte| *byte == b',').filter_map(endpoint)
    }
}

/// What is before a byte, and behind it; all and nothing, where there is none.
fn split(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    let mut parts = bytes.splitn(2, |byte| *byte == separator);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn endpoint(digits: &[u8]) -> Option<Endpoint> {
    let mut bytes = [0; 18];
    let (pairs, rest) = digits.as_chunks::<2>();
    for (place, [high, low]) in bytes.iter_mut().zip(pairs) {
        *place = digit(*high)? << 4 | digit(*low)?;
    }
    match (&bytes, pairs.len(), rest) {
        ([a, b, c, d, high, low, ..], 6, []) => Some(Endpoint::V4([*a, *b, *c, *d], [*high, *low])),
        ([address @ .., high, low], 18, []) => Some(Endpoint::V6(*address, [*high, *low])),
        _ => None,
    }
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn values() {
        let token = "0123456789abcdef0123456789abcdef";
        let local = std::format!("{token}@qmpi-1");
        let address = Address::parse(local.as_bytes()).expect("an address");
        assert_eq!((address.token, address.name), (token.as_bytes(), &b"qmpi-1"[..]));
        assert_eq!(address.of_network().count(), 0);
        let both = std::format!("{token}@qmpi-1,0a0000011f90,x,0a00000110,{}0001ffff", "20".repeat(14));
        let network: Vec<_> = Address::parse(both.as_bytes()).expect("an address").of_network().collect();
        let mut six = [0x20; 16];
        six[14..].copy_from_slice(&[0, 1]);
        assert_eq!(network, [Endpoint::V4([10, 0, 0, 1], [0x1f, 0x90]), Endpoint::V6(six, [0xff, 0xff])]);
        assert_eq!(Address::parse(b"short@qmpi-1"), None);
        assert_eq!(Address::parse(token.as_bytes()), None);
    }
}
