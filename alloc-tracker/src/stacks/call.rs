//! A call: where a thread is in a function, as far as unwinding needs it.
use framehop::{FrameAddress, UnwindRegsNative};

/// The bits of a return address that are an address. Code that signs return addresses, such as Debian 13's C library on processors that can
/// check that, has the signature in those above (Linux, Documentation/arch/arm64/pointer-authentication.rst).
#[cfg(target_arch = "aarch64")]
const ADDRESS: framehop::aarch64::PtrAuthMask = framehop::aarch64::PtrAuthMask(u64::MAX >> 16);

/// Where a call is, as far as unwinding needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its program counter, or where it goes on when the call that it has made returns.
    pub address: FrameAddress,
    /// The stack pointer.
    pub stack_pointer: u64,
    /// The frame pointer: what is in the register, whatever the function uses it for.
    pub frame_pointer: u64,
    /// What the register for return addresses holds, on machines that have one.
    pub link: u64,
}

impl Call {
    /// No function's call.
    pub const NONE: Call =
        Call { address: FrameAddress::InstructionPointer(0), stack_pointer: 0, frame_pointer: 0, link: 0 };

    /// The registers that framehop needs.
    pub fn registers(&self) -> UnwindRegsNative {
        let &Call { stack_pointer, frame_pointer, .. } = self;
        #[cfg(target_arch = "x86_64")]
        return UnwindRegsNative::new(self.address.address(), stack_pointer, frame_pointer);
        #[cfg(target_arch = "aarch64")]
        return UnwindRegsNative::new_with_ptr_auth_mask(ADDRESS, self.link, stack_pointer, frame_pointer);
    }

    /// The call at `address` with the registers that framehop has found.
    pub fn of(registers: &UnwindRegsNative, address: FrameAddress) -> Self {
        #[cfg(target_arch = "x86_64")]
        let (frame_pointer, link) = (registers.bp(), 0);
        #[cfg(target_arch = "aarch64")]
        let (frame_pointer, link) = (registers.fp(), registers.lr());
        Call { address, stack_pointer: registers.sp(), frame_pointer, link }
    }
}

/// The call of the function into which this is inlined.
#[inline(always)]
pub fn present_call() -> Call {
    #[cfg(target_arch = "x86_64")]
    {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: the instructions only copy three registers.
        unsafe {
            std::arch::asm!(
                "lea {ip}, [rip]",
                "mov {sp}, rsp",
                "mov {bp}, rbp",
                ip = out(reg) ip,
                sp = out(reg) sp,
                bp = out(reg) bp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Call { address: FrameAddress::from_instruction_pointer(ip), stack_pointer: sp, frame_pointer: bp, link: 0 }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (pc, lr, sp, fp): (u64, u64, u64, u64);
        // SAFETY: the instructions only copy four registers.
        unsafe {
            std::arch::asm!(
                "adr {pc}, .",
                "mov {lr}, x30",
                "mov {sp}, sp",
                "mov {fp}, x29",
                pc = out(reg) pc,
                lr = out(reg) lr,
                sp = out(reg) sp,
                fp = out(reg) fp,
                options(nomem, nostack, preserves_flags),
            );
        }
        Call { address: FrameAddress::from_instruction_pointer(pc), stack_pointer: sp, frame_pointer: fp, link: lr }
    }
}
