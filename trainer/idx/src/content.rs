//! The content of an IDX file.

/// First bytes of an IDX file of unsigned bytes; the number of dimensions follows.
pub(crate) const MAGIC: [u8; 3] = [0, 0, 8];

/// The content of one IDX file of unsigned bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idx {
    /// Size of each dimension; the first is the number of items.
    pub dims: Vec<u32>,
    /// All elements, item by item. Their number is the product of `dims`.
    pub bytes: Vec<u8>,
}
