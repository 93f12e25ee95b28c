//! What a tool that wraps `dlsym` or `dlvsym` for the program goes on to: see [`crate::look_ups`].

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::look_ups::NextLookUp;

/// With RTLD_NEXT (-1) the tool's own override, with the tool as the caller; with any other handle what is below. `r11`: a [`NextLookUp`].
macro_rules! next_look_up {
    ($(#[$doc:meta])* $name:ident, $of_tool:path) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "cmp rdi, -1",
                "jne 2f",
                "mov r11, qword ptr [r11 + {answers}]",
                "jmp {of_tool}",
                "2:",
                "jmp qword ptr [r11 + {below}]",
                ".cfi_endproc",
                answers = const offset_of!(NextLookUp, answers),
                below = const offset_of!(NextLookUp, below),
                of_tool = sym $of_tool,
            )
        }
    };
}

next_look_up!(
    /// `dlsym(handle, name)`.
    next_dlsym,
    qmpi_overrides::arch::dlsym
);
next_look_up!(
    /// `dlvsym(handle, name, version)`.
    next_dlvsym,
    qmpi_overrides::arch::dlvsym
);
