//! The copy of the library that is preloaded, in this binary: so that `cargo install`, which installs nothing but binaries,
//! installs it too. The assembler takes it in, not `include_bytes!`, because a mere check of the sources has no library.

std::arch::global_asm!(
    ".section .rodata.alloc_preload, \"a\"",
    ".balign 8",
    ".globl alloc_preload_begin",
    ".hidden alloc_preload_begin",
    ".globl alloc_preload_end",
    ".hidden alloc_preload_end",
    "alloc_preload_begin:",
    concat!(".incbin \"", env!("PRELOAD_LIBRARY"), "\""),
    "alloc_preload_end:",
    ".byte 0",
    ".text",
);

unsafe extern "C" {
    #[link_name = "alloc_preload_begin"]
    static BEGIN: u8;
    #[link_name = "alloc_preload_end"]
    static END: u8;
}

/// The library's bytes.
pub fn library() -> &'static [u8] {
    let (begin, end) = (&raw const BEGIN, &raw const END);
    // SAFETY: the two labels above enclose bytes of the read-only section, which live as long as the process.
    unsafe { std::slice::from_raw_parts(begin, end.addr() - begin.addr()) }
}
