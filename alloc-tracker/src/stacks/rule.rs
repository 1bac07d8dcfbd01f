//! Rules: how to get from a call to its caller. `framehop` finds out the rule for an address in a file's unwind tables, for which
//! it needs up to 14 KiB of stack, or 58 KiB in a debug build. To follow a rule that is known takes two reads.
//!
//! framehop keeps its rules for itself. So a rule is learned by a trial: framehop takes a step from made-up registers on a
//! made-up stack. From which addresses it reads, and what it makes of the registers, is the rule.
use framehop::{CacheNative, FrameAddress, MustNotAllocateDuringUnwind, Unwinder};

use super::call::Call;
use super::code_map::Native;

/// What framehop has found out.
pub type Tables = CacheNative<MustNotAllocateDuringUnwind>;

/// How to get to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// There is no caller.
    Outermost,
    /// The frame ends `bytes` above the stack pointer, with the return address. `saved`: how many bytes above the stack pointer the
    /// caller's frame pointer is; `None` where the register has it still.
    ByStackPointer { bytes: u32, saved: Option<u32> },
    /// The frame pointer points to that of the caller, and the return address follows.
    ByFramePointer,
}

impl Rule {
    /// The caller of `call`; `None` when there is none. `read` returns the word at an address of the stack.
    ///
    /// # Errors
    /// What `read` returns for an address that it cannot read.
    #[inline]
    pub fn caller(self, call: &Call, mut read: impl FnMut(u64) -> Result<u64, ()>) -> Result<Option<Call>, ()> {
        let (stack_pointer, frame_pointer) = match self {
            Rule::Outermost => return Ok(None),
            Rule::ByStackPointer { bytes, saved } => {
                let above = |bytes: u32| call.stack_pointer.wrapping_add(bytes.into());
                (above(bytes), saved.map_or(Ok(call.frame_pointer), |saved| read(above(saved)))?)
            }
            Rule::ByFramePointer => {
                let above = call.frame_pointer.wrapping_add(16);
                // Zero, and what is no frame pointer at all: the list of calls ends.
                if call.frame_pointer == 0 || above <= call.stack_pointer {
                    return Ok(None);
                }
                (above, read(call.frame_pointer)?)
            }
        };
        let back = read(stack_pointer.wrapping_sub(8))?;
        let call = |address| Call { address, stack_pointer, frame_pointer, link: call.link };
        Ok(FrameAddress::from_return_address(back).map(call))
    }

    /// The rule in two words, of which the first one's upper half is 0.
    pub fn to_words(self) -> [u64; 2] {
        match self {
            Rule::Outermost => [1, 0],
            Rule::ByFramePointer => [2, 0],
            Rule::ByStackPointer { bytes, saved: None } => [3, bytes.into()],
            Rule::ByStackPointer { bytes, saved: Some(saved) } => [4, u64::from(bytes) | u64::from(saved) << 32],
        }
    }

    /// The rule that [`Rule::to_words`] has turned into these words.
    pub fn from_words([kind, more]: [u64; 2]) -> Option<Self> {
        let (bytes, saved) = (more as u32, (more >> 32) as u32);
        match kind {
            1 => Some(Rule::Outermost),
            2 => Some(Rule::ByFramePointer),
            3 => Some(Rule::ByStackPointer { bytes, saved: None }),
            4 => Some(Rule::ByStackPointer { bytes, saved: Some(saved) }),
            _ => None,
        }
    }
}

/// Has framehop step to the caller of `call`, and learns the rule if it is the same for all calls from there. `None` for the caller when
/// there is none, or it cannot be found.
pub fn step(
    unwinder: &Native,
    tables: &mut Tables,
    call: &Call,
    mut read: impl FnMut(u64) -> Result<u64, ()>,
) -> (Option<Call>, Option<Rule>) {
    let mut registers = call.registers();
    let back = unwinder.unwind_frame(call.address, &mut registers, tables, &mut read);
    let address = back.ok().flatten().and_then(FrameAddress::from_return_address);
    let caller = address.map(|address| Call::of(&registers, address));
    // A rule that is the same for all calls is among those that framehop keeps by now.
    let known = tables.stats().hits();
    let _ = unwinder.unwind_frame(call.address, &mut call.registers(), tables, &mut read);
    let rule = if tables.stats().hits() > known { learn(unwinder, tables, call.address) } else { None };
    (caller, rule)
}

/// The rule that framehop keeps for an address, by a trial (see the module).
#[cfg(target_arch = "x86_64")]
fn learn(unwinder: &Native, tables: &mut Tables, address: FrameAddress) -> Option<Rule> {
    // The stack, and above it, out of the reach of any frame, where the frame pointer points to.
    const STACK: u64 = 1 << 44;
    const FRAME: u64 = 1 << 45;
    const LARGEST: u64 = 1 << 30;
    let call = Call { address, stack_pointer: STACK, frame_pointer: FRAME, link: 0 };
    let mut registers = call.registers();
    // Each word of the made-up stack tells where it was read.
    let back = unwinder.unwind_frame(address, &mut registers, tables, &mut |at: u64| Ok(!at));
    let Some(back) = back.ok()? else { return Some(Rule::Outermost) };
    let Call { stack_pointer, frame_pointer, .. } = Call::of(&registers, address);
    if stack_pointer.checked_sub(8)? != !back {
        return None;
    }
    let bytes = stack_pointer.checked_sub(STACK).filter(|bytes| (8..LARGEST).contains(bytes));
    match bytes {
        Some(bytes) if frame_pointer == FRAME => Some(Rule::ByStackPointer { bytes: bytes as u32, saved: None }),
        Some(bytes) => {
            let saved = (!frame_pointer).checked_sub(STACK).filter(|&saved| saved < bytes)?;
            Some(Rule::ByStackPointer { bytes: bytes as u32, saved: Some(saved as u32) })
        }
        None => (stack_pointer == FRAME + 16 && frame_pointer == !FRAME).then_some(Rule::ByFramePointer),
    }
}

/// Rules have other forms here. Each step is framehop's.
#[cfg(target_arch = "aarch64")]
fn learn(_: &Native, _: &mut Tables, _: FrameAddress) -> Option<Rule> {
    None
}
