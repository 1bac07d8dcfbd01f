//! Writes files so that a reader sees the whole file or none.
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::file::Timeline;
use crate::kept_file::KeptFile;

/// The kernel follows no more links (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// Writes `timeline` to a file beside `path`, and renames that when it is complete; see [`store_by`].
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

/// Writes what `encode` writes to a file beside `path`, and renames that when it is complete. A link stays, and the file that
/// it leads to is replaced. A pipe or a device takes the bytes as they come: a file in its place would be wrong.
///
/// # Errors
/// As for [`store`], and those of `encode`.
pub fn store_by(path: &Path, encode: impl FnOnce(&mut BufWriter<&mut dyn Write>) -> io::Result<()>) -> io::Result<()> {
    let path = &behind_links(path);
    if fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir()) {
        return write(&mut OpenOptions::new().write(true).open(path)?, encode);
    }
    let mut prefix = path.file_name().unwrap_or_default().to_owned();
    prefix.push(".");
    let folder = path.parent().unwrap_or(Path::new(""));
    // `create_new` gives the file the mode that any file of this process gets, while `tempfile` alone would hide it from
    // other users.
    let mut partial = tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".partial")
        .make_in(folder, |path| KeptFile::create_new(path))?;
    write(partial.as_file_mut(), encode)?;
    partial.persist(path)?;
    Ok(())
}

fn write(
    file: &mut dyn Write,
    encode: impl FnOnce(&mut BufWriter<&mut dyn Write>) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    encode(&mut out)?;
    out.flush()
}

/// `path` with the process id in the place of `%p` in the file's name. The folders above it are there already, and have the names that they have.
pub fn with_process_id(path: &Path, process: u32) -> PathBuf {
    match path.file_name().and_then(|name| name.to_str()) {
        Some(name) if name.contains("%p") => path.with_file_name(name.replace("%p", &process.to_string())),
        _ => path.to_owned(),
    }
}

/// The path that a link leads to, through further links, whether a file is there or not yet. `path` itself where it is no link, or leads to a pipe.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !path.is_symlink() {
            break;
        }
        match (path.canonicalize(), fs::read_link(&path)) {
            (Ok(whole), _) => return whole,
            (Err(_), Ok(next)) if !path.exists() => path = path.parent().unwrap_or(Path::new("")).join(next),
            _ => break,
        }
    }
    path
}

/// Whether `path` leads to what this open stream leads to, as `/dev/stdout` does for standard output.
pub fn leads_to_stream(path: &Path, stream: impl AsFd) -> bool {
    let identity = |file: Metadata| (file.dev(), file.ino(), file.rdev());
    let open = stream.as_fd().try_clone_to_owned().and_then(|stream| File::from(stream).metadata());
    fs::metadata(path).is_ok_and(|there| open.is_ok_and(|open| identity(there) == identity(open)))
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
