//! The index of a file's unwind tables: for which of its code there are any. A function without, as some in assembly are, is passed over by an
//! unwinder that then follows the frame pointer.
use addr2line::gimli::{BaseAddresses, EhFrame, EhFrameHdr, NativeEndian, UnwindSection};

use super::elf::{Part, Sections};

/// The sections `.eh_frame_hdr` and `.eh_frame` of a file, and the addresses that the file gives to them.
#[derive(Clone, Debug)]
pub struct Index {
    index: Part,
    tables: Part,
    bases: BaseAddresses,
}

impl Index {
    /// The index of a file with these sections; `None` where it has none.
    pub fn new(sections: &Sections) -> Option<Index> {
        let (index_at, tables_at) =
            (sections.eh_frame_hdr_svma.as_ref()?.start, sections.eh_frame_svma.as_ref()?.start);
        let bases = BaseAddresses::default().set_eh_frame_hdr(index_at).set_eh_frame(tables_at);
        let bases = sections.text_svma.iter().fold(bases, |bases, text| bases.set_text(text.start));
        let bases = sections.got_svma.iter().fold(bases, |bases, got| bases.set_got(got.start));
        Some(Index { index: sections.eh_frame_hdr.clone()?, tables: sections.eh_frame.clone()?, bases })
    }

    /// Where the function begins that has the byte of code at this address of the file, if there is a table for it. Allocates nothing.
    pub fn function(&self, address: u64) -> Option<u64> {
        let index = EhFrameHdr::new(&self.index, NativeEndian).parse(&self.bases, size_of::<usize>() as u8).ok()?;
        let table = index.table()?;
        let found = table.pointer_to_offset(table.lookup(address, &self.bases).ok()?).ok()?;
        let tables = EhFrame::new(&self.tables, NativeEndian);
        let entry = tables.fde_from_offset(&self.bases, found, EhFrame::cie_from_offset).ok()?;
        entry.contains(address).then(|| entry.initial_address())
    }
}
