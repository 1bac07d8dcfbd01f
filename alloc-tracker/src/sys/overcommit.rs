//! Mappings that are larger than all memory.
use std::ptr;

use super::errno::preserving_errno;

/// Smaller mappings fit into the memory of any machine that this runs on, and are not asked about.
const LEAST: usize = 64 << 20;

/// Whether the kernel would refuse the C library a mapping of `bytes` because no machine of this size could ever fill it. By
/// default (`vm.overcommit_memory` 0) Linux refuses one that is larger than all memory and swap together, unless it is mapped with
/// MAP_NORESERVE (`__vm_enough_memory` in its mm/util.c). Keeps `errno`.
#[inline]
pub fn exceeds_memory(bytes: usize) -> bool {
    bytes >= LEAST && preserving_errno(|| memory_and_swap().is_some_and(|all| bytes as u64 > all) && !is_granted(bytes))
}

/// Bytes of memory and swap (sysinfo(2)).
fn memory_and_swap() -> Option<u64> {
    let mut info = std::mem::MaybeUninit::<libc::sysinfo>::zeroed();
    // SAFETY: `info` is valid for writing for the duration of the call.
    if unsafe { libc::sysinfo(info.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: a sysinfo is made of integers, for which zeroes are values, and the kernel has filled it.
    let info = unsafe { info.assume_init() };
    // On 64-bit machines the type is u64 already.
    #[allow(clippy::useless_conversion)]
    let units = u64::from(info.totalram).saturating_add(info.totalswap.into());
    Some(units.saturating_mul(info.mem_unit.into()))
}

/// Has the kernel map so many bytes as the C library does, and unmaps them.
fn is_granted(bytes: usize) -> bool {
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no existing memory, and is unmapped
    // whole before anybody knows of it.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), bytes, access, flags, -1, 0);
        start != libc::MAP_FAILED && libc::munmap(start, bytes) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_decides_about_what_is_larger_than_all_memory() {
        let all = memory_and_swap().expect("sysinfo");
        assert!(all > 64 << 20, "{all}");
        assert!(!exceeds_memory(0));
        assert!(!exceeds_memory(all as usize), "as much as there is may be asked for");
        let asked = std::fs::read_to_string("/proc/sys/vm/overcommit_memory").expect("the kernel's rule");
        // With 1 it grants everything, with 2 no more than its own limit.
        assert_eq!(exceeds_memory(all as usize + (1 << 30)), asked.trim() != "1");
    }
}
