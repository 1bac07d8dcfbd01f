//! Writing a file, and packing it so that the same content always gives the same bytes.
use std::io::Write;

use flate2::{Compression, GzBuilder};

use crate::content::{Idx, MAGIC};

impl Idx {
    /// The content as the bytes of an unpacked IDX file.
    ///
    /// # Panics
    /// When there are more than 255 dimensions, or the number of elements is not the product of the dimensions.
    pub fn encode(&self) -> Vec<u8> {
        let elements: u64 = self.dims.iter().map(|&size| u64::from(size)).product();
        assert_eq!(elements, self.bytes.len() as u64, "the elements of {:?}", self.dims);
        let mut file = MAGIC.to_vec();
        file.push(u8::try_from(self.dims.len()).expect("IDX has at most 255 dimensions"));
        file.extend(self.dims.iter().flat_map(|size| size.to_be_bytes()));
        file.extend(&self.bytes);
        file
    }
}

/// Packs `content` with gzip. Neither a time nor a file name is stored, so the same content gives the same bytes.
pub fn gzip(content: &[u8]) -> Vec<u8> {
    let mut packer = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    packer.write_all(content).and_then(|()| packer.finish()).expect("writing to memory cannot fail")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let images = Idx { dims: vec![2, 28, 28], bytes: vec![7; 2 * 28 * 28] };
        assert_eq!(Idx::decode(&images.encode()[..], 3).expect("whole"), images);
        let labels = Idx { dims: vec![3], bytes: vec![1, 2, 3] };
        assert_eq!(Idx::decode(&labels.encode()[..], 1).expect("whole"), labels);
        assert_eq!(Idx { dims: vec![1], bytes: vec![9] }.encode(), [0, 0, 8, 1, 0, 0, 0, 1, 9]);
    }

    #[test]
    fn packing_the_same_content_twice_gives_the_same_bytes() {
        let content = Idx { dims: vec![3], bytes: vec![1, 2, 3] }.encode();
        let packed = gzip(&content);
        assert_eq!(packed, gzip(&content));
        // Magic number, method, no flags, time 0.
        assert_eq!(packed[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    }
}
