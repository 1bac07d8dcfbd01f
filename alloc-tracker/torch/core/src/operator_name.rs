//! Names of libtorch's own operators, which tables here list without their namespace.

/// The name of an operator of libtorch's without its namespace; `None` for an operator of somebody else's.
pub(crate) fn of_libtorch(operator: &[u8]) -> Option<&[u8]> {
    operator.strip_prefix(b"aten::")
}

/// Where a name stands in a table that is sorted by `name_in`.
pub(crate) fn place_in<T>(table: &[T], name: &[u8], name_in: impl Fn(&T) -> &str) -> Option<usize> {
    table.binary_search_by(|row| name_in(row).as_bytes().cmp(name)).ok()
}

/// Whether a name stands in a sorted list.
pub(crate) fn is_in(names: &[&str], name: &[u8]) -> bool {
    place_in(names, name, |known| known).is_some()
}
