//! The value of [`crate::VARIABLE`], read back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::TOKEN;

/// Token and places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// What the process has to show.
    pub token: &'a str,
    /// The name of the Unix socket.
    pub name: &'a str,
    rest: &'a str,
}

impl<'a> Address<'a> {
    /// Reads a value; `None` where it is none.
    pub fn parse(value: &'a str) -> Option<Address<'a>> {
        let (token, places) = value.split_once('@')?;
        let (name, rest) = places.split_once(',').unwrap_or((places, ""));
        (token.len() == TOKEN && !name.is_empty()).then_some(Address { token, name, rest })
    }

    /// Where ranks of other hosts report.
    pub fn of_network(&self) -> impl Iterator<Item = SocketAddr> + use<'a> {
        self.rest.split(',').filter_map(endpoint)
    }
}

/// Where a TCP socket listens: address and port in hexadecimal, 12 or 36 digits.
fn endpoint(digits: &str) -> Option<SocketAddr> {
    let (address, port) = digits.split_at_checked(digits.len().checked_sub(4)?)?;
    let address: IpAddr = match address.len() {
        8 => Ipv4Addr::from_bits(u32::from_str_radix(address, 16).ok()?).into(),
        32 => Ipv6Addr::from_bits(u128::from_str_radix(address, 16).ok()?).into(),
        _ => return None,
    };
    Some(SocketAddr::new(address, u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        let token = "0123456789abcdef0123456789abcdef";
        let local = format!("{token}@qmpi-1");
        let address = Address::parse(&local).expect("an address");
        assert_eq!((address.token, address.name), (token, "qmpi-1"));
        assert_eq!(address.of_network().count(), 0);
        let both = format!("{token}@qmpi-1,0a0000011f90,x,0a00000110,{}0001ffff", "20".repeat(14));
        let network: Vec<_> = Address::parse(&both).expect("an address").of_network().collect();
        let expected = ["10.0.0.1:8080", "[2020:2020:2020:2020:2020:2020:2020:1]:65535"];
        assert_eq!(network.iter().map(ToString::to_string).collect::<Vec<_>>(), expected);
        assert_eq!(Address::parse("short@qmpi-1"), None);
        assert_eq!(Address::parse(token), None);
    }
}
