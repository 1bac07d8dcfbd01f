//! What code is mapped, as `/proc/self/maps` says it.
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{self, BufRead};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use procfs_core::FromBufRead;
use procfs_core::process::{MMPermissions, MMapPath, MemoryMap, MemoryMaps};

/// A mapping with code of a file: a line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// The first address.
    pub start: u64,
    /// The address after the last one.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file.
    pub inode: Inode,
    /// The path that the file had when it was mapped.
    pub path: PathBuf,
}

/// What the kernel writes behind the path of a file that has another name now, or none.
const DELETED: &str = " (deleted)";

/// All code that is mapped.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mapped {
    /// The code of files, and whether the file is still at its path.
    pub pieces: HashMap<Piece, bool>,
    /// The addresses of all other code, in order.
    pub others: Vec<std::ops::Range<u64>>,
    /// Where files that are at their path no more begin: each file, and the address of its first byte.
    pub begins: Vec<(Inode, u64)>,
}

/// Major and minor number of a device, and the inode on it.
pub type Inode = (i32, i32, u64);

/// The code in a text like /proc/self/maps. Most lines are of mappings without code, and are not taken apart.
///
/// # Errors
/// What could not be read, or is not such a text.
pub fn mapped(mut maps: impl BufRead) -> io::Result<Mapped> {
    let (mut with_code, mut line) = (Vec::new(), Vec::new());
    while maps.read_until(b'\n', &mut line)? > 0 {
        // The second column, such as `r-xp`.
        let is_code = line.split(|byte| *byte == b' ').nth(1).is_some_and(|permissions| permissions.contains(&b'x'));
        if is_code || line.trim_ascii_end().ends_with(DELETED.as_bytes()) {
            with_code.extend_from_slice(&line);
        }
        line.clear();
    }
    let maps = MemoryMaps::from_buf_read(&with_code[..]).map_err(io::Error::other)?;
    let mut found = Mapped::default();
    for map in maps.iter() {
        let is_code = map.perms.contains(MMPermissions::EXECUTE);
        if let MMapPath::Path(path) = &map.pathname {
            let (piece, at_its_path) = piece(map, path);
            if !at_its_path && piece.offset == 0 {
                found.begins.push((piece.inode, piece.start));
            }
            if is_code {
                found.pieces.insert(piece, at_its_path);
            }
        } else if is_code {
            found.others.push(map.address.0..map.address.1);
        }
    }
    Ok(found)
}

/// The mapping as a piece of code, and whether the file is still at its path.
fn piece(map: &MemoryMap, path: &Path) -> (Piece, bool) {
    let deleted = path.as_os_str().as_encoded_bytes().strip_suffix(DELETED.as_bytes());
    let at = deleted.map_or(path, |path| Path::new(OsStr::from_bytes(path)));
    let (start, end, inode) = (map.address.0, map.address.1, (map.dev.0, map.dev.1, map.inode));
    (Piece { start, end, offset: map.offset, inode, path: at.to_owned() }, deleted.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_an_executable_mapping_of_a_file() {
        let text = "7f12345000-7f12346000 r-xp 00001000 fe:01 99    /lib/a lib.so\n\
                    7f12346000-7f12347000 r--p 00001000 fe:01 99    /lib/a.so\n\
                    7f12347000-7f12348000 r-xp 00000000 00:00 0     [vdso]\n\
                    7f12348000-7f12349000 r-xp 00000000 00:00 0 \n\
                    7f12348000-7f12349000 r--p 00000000 fe:01 98    /tmp/b.so (deleted)\n\
                    7f12349000-7f1234a000 r-xp 00001000 fe:01 98    /tmp/b.so (deleted)\n";
        let found = mapped(text.as_bytes()).unwrap();
        assert_eq!(found.others, [0x7f12347000..0x7f12348000, 0x7f12348000..0x7f12349000]);
        assert_eq!(found.begins, [((0xfe, 1, 98), 0x7f12348000)]);
        let mut pieces: Vec<(Piece, bool)> = found.pieces.into_iter().collect();
        pieces.sort_by_key(|(piece, _)| piece.start);
        let [(piece, true), (deleted, false)] = &pieces[..] else { panic!("{pieces:?}") };
        assert_eq!(deleted.path.to_str(), Some("/tmp/b.so"));
        assert_eq!((piece.start, piece.end, piece.offset), (0x7f12345000, 0x7f12346000, 0x1000));
        assert_eq!((piece.inode, piece.path.to_str()), ((0xfe, 1, 99), Some("/lib/a lib.so")));
    }
}
