//! Writes a timeline so that a reader sees the whole file or none.
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::file::Timeline;
use crate::kept_file::KeptFile;

/// Writes `timeline` to a file beside `path`, and renames that when it is complete.
///
/// # Errors
/// When the folder or the disk takes no such file. Nothing is left behind then, and what stood at `path` before stays.
///
/// ```
/// use alloc_timeline::{Assembler, load, store};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("run.timeline.json");
/// let timeline = Assembler::new().timeline();
/// store(&timeline, &path)?;
/// assert_eq!(load(&path)?, timeline);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn store(timeline: &Timeline, path: impl AsRef<Path>) -> io::Result<()> {
    store_by(path.as_ref(), |out| encode(timeline, out))
}

/// [`store`] of what `encode` writes.
pub fn store_by(path: &Path, encode: impl FnOnce(&mut BufWriter<&mut KeptFile>) -> io::Result<()>) -> io::Result<()> {
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let folder = path.parent().unwrap_or(Path::new(""));
    // `create_new` gives the file the mode that any file of this process gets, while `tempfile` alone would hide it from
    // other users.
    let mut partial = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".partial")
        .make_in(folder, |path| KeptFile::create_new(path))?;
    let mut out = BufWriter::new(partial.as_file_mut());
    encode(&mut out)?;
    out.flush()?;
    drop(out);
    partial.persist(path)?;
    Ok(())
}

/// Writes `timeline` as one JSON object and a newline.
///
/// # Errors
/// When `out` has one.
pub fn encode(timeline: &Timeline, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, timeline)?;
    out.write_all(b"\n")
}

/// Where a copy of what was recorded so far is stored, beside the timeline to come: `NAME.WORD-NUMBER.timeline.json`.
///
/// ```
/// use std::path::Path;
///
/// let dump = alloc_timeline::dump_path("runs/x.timeline.json", "threshold", 1);
/// assert_eq!(dump, Path::new("runs/x.threshold-1.timeline.json"));
/// ```
pub fn dump_path(timeline: impl AsRef<Path>, word: &str, number: u32) -> PathBuf {
    let timeline = timeline.as_ref();
    let file = timeline.file_name().unwrap_or_default().to_string_lossy();
    let name = file.strip_suffix(".timeline.json").or(file.strip_suffix(".json")).unwrap_or(&file);
    timeline.with_file_name(format!("{name}.{word}-{number}.timeline.json"))
}
