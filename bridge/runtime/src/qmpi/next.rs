//! The next link of a QMPI tool.

/// What comes next for one function: `QMPI_Get_function`'s answer.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Next {
    /// 0: nobody has the function.
    pub(crate) function: usize,
    pub(crate) tool: i32,
}
