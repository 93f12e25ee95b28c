//! The words by which layers of a running process are switched off and on, as `qmpi ctl` finds them.
//!
//! The process keeps them in a file in memory (`memfd_create`) that it has mapped, and keeps the file open: `/proc/PID/fd` leads there.
//! So there is no path to agree on, nothing is left behind when the process is gone, however it ends, and processes of other users
//! are kept out by the kernel. A stub reads the state of its layer; nothing in the process has to be woken up.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU8, AtomicU32};

/// The name of the file in memory.
pub const NAME: &str = "qmpi:control";
/// Where `/proc/PID/fd` has it as the target of a link.
pub const LINK: &str = "/memfd:qmpi:control (deleted)";
/// How the file begins; the digit stands for this layout.
pub const MAGIC: [u8; 8] = *b"qmpictl1";
/// Layers at most.
pub const LAYERS: usize = 64;
/// Bytes of a label; what is longer is cut off.
pub const LABEL: usize = 120;

/// `state` of a layer that is on.
pub const ON: u32 = 0;
/// `state` of a layer that is off.
pub const OFF: u32 = 1;

/// The contents of the file.
#[derive(Debug)]
#[repr(C)]
pub struct Control {
    /// [`MAGIC`], once all is written.
    pub magic: [AtomicU8; 8],
    /// How many layers there are; a layer is complete before it is counted.
    pub count: AtomicU32,
    /// Not 0 once a layer has been off; written before the layer's state.
    pub active: AtomicU32,
    /// The layers that can be switched.
    pub layers: [Word; LAYERS],
}

/// One layer.
#[derive(Debug)]
#[repr(C)]
pub struct Word {
    /// [`ON`] or [`OFF`].
    pub state: AtomicU32,
    /// Its number, 1 for the outermost of the stack.
    pub tool: AtomicU32,
    /// Its label, and zeros.
    pub label: [AtomicU8; LABEL],
}

/// Bytes of the file.
pub const LEN: usize = size_of::<Control>();
/// Where `active` is in the file.
pub const ACTIVE: u64 = offset_of!(Control, active) as u64;

/// A layer as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switchable {
    /// Its number, 1 for the outermost of the stack.
    pub tool: u32,
    /// Its label.
    pub label: String,
    /// Is it on?
    pub is_on: bool,
    /// Where its state is in the file.
    pub place: u64,
}

/// Reads the contents of a file; `None` if it is another build's, or not complete yet.
pub fn read(bytes: &[u8]) -> Option<Vec<Switchable>> {
    if bytes.len() < LEN || !bytes.starts_with(&MAGIC) {
        return None;
    }
    let word = |place: usize| Some(u32::from_ne_bytes(*bytes.get(place..)?.first_chunk()?));
    let count = usize::try_from(word(offset_of!(Control, count))?).ok()?.min(LAYERS);
    let layer = |index: usize| {
        let place = offset_of!(Control, layers) + index * size_of::<Word>();
        let label = bytes.get(place + offset_of!(Word, label)..)?.get(..LABEL)?;
        let label = label.split(|byte| *byte == 0).next().unwrap_or_default();
        Some(Switchable {
            tool: word(place + offset_of!(Word, tool))?,
            label: String::from_utf8_lossy(label).into_owned(),
            is_on: word(place + offset_of!(Word, state))? == ON,
            place: (place + offset_of!(Word, state)) as u64,
        })
    };
    (0..count).map(layer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_this_build_and_others() {
        assert_eq!((LEN, ACTIVE), (16 + 128 * 64, 12));
        let mut bytes = vec![0; LEN];
        assert_eq!(read(&bytes), None);
        bytes[..8].copy_from_slice(&MAGIC);
        assert_eq!(read(&bytes), Some(Vec::new()));
        bytes[8] = 2;
        bytes[16] = 1;
        bytes[20] = 3;
        bytes[24..28].copy_from_slice(b"mpiP");
        bytes[16 + 128 + 4] = 7;
        let layer = |tool, label: &str, is_on, place| Switchable { tool, label: label.into(), is_on, place };
        assert_eq!(read(&bytes), Some(vec![layer(3, "mpiP", false, 16), layer(7, "", true, 144)]));
        bytes[8..12].fill(0xff);
        assert_eq!(read(&bytes).map(|layers| layers.len()), Some(LAYERS));
        assert_eq!(read(&bytes[..LEN - 1]), None);
        bytes[7] = b'2';
        assert_eq!(read(&bytes), None);
    }
}
