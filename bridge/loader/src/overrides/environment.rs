//! What `getenv` of an instance reads: the layer's settings, and a copy of the process's environment.

use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStringExt;

use qmpi_overrides::getenv::Variable;

/// A layer's settings as C strings.
pub(crate) fn settings(env: &[(String, String)]) -> &'static [(&'static CStr, &'static CStr)] {
    let settings = env.iter().filter_map(|(name, value)| Some((kept(name.as_str())?, kept(value.as_str())?)));
    Box::leak(settings.collect::<Box<[_]>>())
}

/// Copies the environment, but for what the dynamic linker reads: a tool that blanks out `LD_PRELOAD` in place means the
/// programs that this one will start.
pub(crate) fn copy() -> &'static [Variable] {
    let settings = std::env::vars_os().filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"LD_"));
    let variables = settings.filter_map(|(name, value)| {
        let value = kept(value.into_vec())?;
        Some(Variable { name: kept(name.into_vec())?, value, own: value.to_owned().into_raw() })
    });
    Box::leak(variables.collect::<Box<[_]>>())
}

/// A C string that is never freed.
fn kept(text: impl Into<Vec<u8>>) -> Option<&'static CStr> {
    Some(Box::leak(CString::new(text).ok()?.into_boxed_c_str()))
}
