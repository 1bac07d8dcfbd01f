//! The limits of the process's address space (getrlimit(2)), which the program may change at any time.

/// A resource with a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// All mappings, resident or not: RLIMIT_AS.
    AddressSpace,
    /// Private writable mappings: RLIMIT_DATA.
    Data,
}

/// The limit in bytes that is in force; `None` where there is none.
pub fn resource_limit(resource: Resource) -> Option<u64> {
    let number = match resource {
        Resource::AddressSpace => libc::RLIMIT_AS,
        Resource::Data => libc::RLIMIT_DATA,
    };
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: getrlimit writes to the structure that it is given and to nothing else; on failure that stays as it is.
    unsafe { libc::getrlimit(number, &mut limit) };
    // On 64-bit machines the type is u64 already.
    #[allow(clippy::useless_conversion)]
    (limit.rlim_cur != libc::RLIM_INFINITY).then(|| limit.rlim_cur.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test processes have no such limits, unless whoever started them set some.
    #[test]
    fn a_limit_is_above_what_is_in_use() {
        for resource in [Resource::AddressSpace, Resource::Data] {
            assert!(resource_limit(resource).is_none_or(|bytes| bytes > 1 << 20));
        }
    }
}
