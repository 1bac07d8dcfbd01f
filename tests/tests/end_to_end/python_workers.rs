//! A loader's workers and their parent (`python_torch/loader.py`): each batch counts once over the files of both, by either of PyTorch's ways
//! to share memory.
use alloc_timeline::{Category, SharedMemory, Timeline, is_inherited};
use tests::{folder, rows, run, text, viewer};

use super::python_torch::{python, script};

/// A batch of 8 images of 3 x 224 x 224 floats.
const BATCH: u64 = 8 * 3 * 224 * 224 * 4;

/// What is told of tensors in shared memory, and that all of it is input in this phase.
fn shared<'a>(timeline: &'a Timeline, phase: &str) -> &'a SharedMemory {
    let shared = timeline.shared_memory.as_ref().expect("tensors in shared memory");
    for (scope, row) in rows(timeline, &shared.peak) {
        assert_eq!((row.category, scope.phase.as_str()), (Category::Input, phase), "{scope:?}");
    }
    shared
}

#[test]
fn a_batch_of_a_worker_counts_once() {
    for strategy in ["file_descriptor", "file_system"] {
        let Some(mut python) = python() else { return };
        let folder = folder();
        python.args(["-m", "alloc_tracker", "-q", "--stacks", "off", &script("loader.py"), strategy]);
        let ran = run(python.current_dir(folder.path()));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "141.0\n"), "{}", ran.stderr);
        let files = std::fs::read_dir(folder.path()).expect("the folder").map(|entry| entry.expect("an entry").path());
        let (dumps, files): (Vec<_>, Vec<_>) = files.partition(|path| text(path).contains(".dump-"));
        let timelines: Vec<_> = files
            .into_iter()
            .filter(|path| text(path).ends_with(".timeline.json"))
            .map(|path| (alloc_timeline::load(&path).unwrap_or_else(|error| panic!("{error}")), path))
            .filter(|(timeline, _)| timeline.shared_memory.is_some())
            .collect();
        let (parents, workers): (Vec<_>, Vec<_>) =
            timelines.iter().partition(|(timeline, _)| !timeline.scopes.iter().any(is_inherited));
        let ([(parent, path)], [(worker, _)]) = (&parents[..], &workers[..]) else {
            panic!("{strategy}: {:?}", timelines.iter().map(|(_, path)| path).collect::<Vec<_>>());
        };
        assert_eq!(worker.run["parent_pid"], parent.run["pid"], "{strategy}");
        // Six batches, of which the script holds the one before while the next comes.
        let received = shared(parent, "data");
        assert_eq!((received.mapped, received.ended, received.peak.live_bytes), (6, 6, 2 * BATCH), "{strategy}");
        // The worker may have made the next when the thread that sends has not yet sent the one before.
        let made = shared(worker, "");
        assert_eq!((made.mapped, made.ended), (6, 6), "{strategy}: all were handed over");
        assert!([BATCH, 2 * BATCH].contains(&made.peak.live_bytes), "{strategy}: {made:?}");
        // None of it is in the live bytes, where the batch would be as large again.
        let input: u64 = rows(parent, &parent.peak)
            .filter(|row| row.1.category == Category::Input)
            .map(|row| row.1.usable_bytes)
            .sum();
        assert_eq!(input, 0, "{strategy}");

        // When it makes a copy of its timeline, the script has the last batch alone, of which it has read every page.
        let [dump] = &dumps[..] else { panic!("{strategy}: {dumps:?}") };
        let dump = alloc_timeline::load(dump).unwrap_or_else(|error| panic!("{error}"));
        let book = &dump.mark_books.last().expect("a book of the copy's instant").book;
        let line = book.lines.iter().find(|line| line.name == "tensors in shared memory").expect("a line");
        // The other way to share has 64 bytes of PyTorch's before the storage.
        let pages = if strategy == "file_system" { BATCH + 4_096 } else { BATCH };
        assert_eq!(line.bytes, pages as i64, "{strategy}: {:?}", book.lines);
        assert_eq!(line.parts[0].name, "data");
        let sum: i64 = book.lines.iter().map(|line| line.bytes).sum();
        assert_eq!(sum, book.rss_bytes as i64);
        let said = viewer(&["summary", text(path)]).stdout;
        assert!(
            said.contains("\nTensors in shared memory\n  9,633,792 bytes (9.2 MiB) at most at once, at "),
            "{said}"
        );
    }
}
