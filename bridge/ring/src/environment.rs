//! An environment, as the C library has it: read without its functions, which may be another library's.
#![expect(unsafe_code, reason = "reads an array of C strings")]

use core::ffi::c_char;

/// An array of `NAME=VALUE` that ends with a null pointer.
pub type Array = *mut *mut c_char;

/// The texts of an array of the environment.
///
/// # Safety
/// It is null, or an array of C strings that ends with a null pointer and stays as it is meanwhile.
pub unsafe fn texts(array: Array) -> impl Iterator<Item = *mut c_char> {
    let mut next = array;
    core::iter::from_fn(move || {
        // SAFETY: such an array, as the caller promises; nothing is read behind its null pointer.
        let text = unsafe { next.as_ref() }.copied().filter(|text| !text.is_null())?;
        next = next.wrapping_add(1);
        Some(text)
    })
}

/// Is the text `NAME=VALUE` with this name?
///
/// # Safety
/// It is a C string.
pub unsafe fn is_named(text: *const c_char, name: &[u8]) -> bool {
    let mut bytes = name.iter().chain(b"=").enumerate();
    // To measure the text first would take longer than all else.
    // SAFETY: no byte is read behind one that differs from the name's, as the NUL does.
    bytes.all(|(index, byte)| unsafe { text.cast::<u8>().wrapping_add(index).read() } == *byte)
}

/// The value of `name` in such an array.
///
/// # Safety
/// As [`texts`].
pub unsafe fn find(array: Array, name: &[u8]) -> Option<*mut c_char> {
    // SAFETY: one of the array's texts, which are C strings.
    let is_it = |text: &*mut c_char| unsafe { is_named(*text, name) };
    // SAFETY: such an array, as the caller promises.
    let text = unsafe { texts(array) }.find(is_it)?;
    Some(text.wrapping_add(name.len()).wrapping_add(1))
}
