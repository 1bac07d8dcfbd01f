//! Each kind of data set, from files made here to a step of training: what a run says of its data, which bytes are its
//! input, and what of a damaged set is told before anything runs.
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Ran, refused, small_data, text, trainer};
use alloc_timeline::{Category, Timeline};
use image::{GrayImage, Luma, Rgb, RgbImage};
use tempfile::TempDir;

/// The images of a batch.
const BATCH: u64 = 4;

/// A folder with these files.
fn folder(files: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, content) in files {
        fs::write(folder.path().join(name), content).expect("written");
    }
    folder
}

/// Records of CIFAR: these bytes before the pixels, of which the label decides how bright each channel is.
fn records(labels: &[&[u8]]) -> Vec<u8> {
    let record = |labels: &&[u8]| {
        let label = labels[labels.len() - 1];
        let channels = [20 * label, 200 - 20 * label, 10 * label];
        [labels.to_vec(), channels.map(|value| [value; 1024]).concat()].concat()
    };
    labels.iter().flat_map(record).collect()
}

fn cifar_10() -> TempDir {
    let first = records(&[&[0], &[3], &[9], &[1], &[5]]);
    folder(&[
        ("data_batch_1.bin", first),
        ("data_batch_2.bin", records(&[&[7], &[2], &[4]])),
        ("test_batch.bin", records(&[&[8], &[6]])),
    ])
}

/// Two classes with images of several sizes and kinds: PNG and JPEG, grey and coloured, upright and lying.
fn image_folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let class = |name: &str| {
        let class = folder.path().join(name);
        fs::create_dir(&class).expect("made");
        class
    };
    let (cat, dog) = (class("cat"), class("dog"));
    RgbImage::from_pixel(50, 40, Rgb([200, 20, 20])).save(cat.join("1.png")).expect("written");
    RgbImage::from_pixel(40, 90, Rgb([210, 10, 20])).save(cat.join("2.jpg")).expect("written");
    GrayImage::from_pixel(33, 33, Luma([30])).save(dog.join("1.jpeg")).expect("written");
    RgbImage::from_pixel(20, 20, Rgb([10, 10, 60])).save(dog.join("2.PNG")).expect("written");
    folder
}

/// One run of the smallest network for coloured images, or of another.
struct Run<'a> {
    mode: &'a str,
    model: &'a str,
    side: u64,
    data: &'a Path,
    out: PathBuf,
}

impl<'a> Run<'a> {
    fn train(data: &'a Path, results: &Path) -> Run<'a> {
        Run { mode: "train", model: "mobilenet_v1_025", side: 33, data, out: results.join("a.timeline.json") }
    }

    fn with(&self, more: &[&str]) -> Ran {
        let (batch, side) = (BATCH.to_string(), self.side.to_string());
        let args = [self.mode, "--model", self.model, "--data", text(self.data), "--out", text(&self.out)];
        let size = ["--batch", &batch, "--image-size", &side, "--steps", "2", "--threads", "1"];
        trainer(&[&args[..], &size, more].concat())
    }

    /// The timeline and stdout of a run that works.
    #[track_caller]
    fn works(&self) -> (Timeline, String) {
        let ran = self.with(&[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        (alloc_timeline::load(&self.out).expect("a timeline"), ran.stdout)
    }
}

/// Requested bytes that are labelled as input, at the end of each forward pass or inference.
fn input_bytes(timeline: &Timeline) -> Vec<u64> {
    let marks =
        timeline.marks.iter().filter(|mark| ["end of forward", "end of inference"].contains(&mark.name.as_str()));
    let input = |rows: &[alloc_timeline::Row]| {
        rows.iter().filter(|row| row.category == Category::Input).map(|row| row.requested_bytes).sum()
    };
    marks.filter_map(|mark| Some(input(&mark.snapshot.as_ref()?.rows))).collect()
}

/// Images of f32 and labels of i64.
fn expected_input(channels: u64, side: u64) -> u64 {
    BATCH * channels * side * side * 4 + BATCH * 8
}

#[test]
fn each_kind_says_what_it_is_and_its_batches_are_input() {
    let (idx, cifar_10, images) = (small_data(8), cifar_10(), image_folder());
    let cifar_100 = folder(&[("train.bin", records(&[&[3, 9], &[19, 8], &[3, 7]]))]);
    let results = tempfile::tempdir().expect("a folder");
    for (data, format, count, line) in [
        (&idx, "idx", 8, "IDX, 8 images of 1x28x28"),
        (&cifar_10, "cifar-10", 8, "CIFAR-10, 8 images of 3x32x32"),
        (&cifar_100, "cifar-100", 3, "CIFAR-100, 3 images of 3x32x32"),
        (&images, "image-folder", 4, "a folder for each class, 4 images of 2 classes"),
    ] {
        let (timeline, stdout) = Run::train(data.path(), results.path()).works();
        let expected = format!("data: {}: {line}", data.path().display());
        assert_eq!(stdout.lines().next(), Some(expected.as_str()), "{stdout}");
        assert_eq!((&timeline.run["data_format"], &timeline.run["data_images"]), (&format.into(), &count.into()));
        assert_eq!(input_bytes(&timeline), [expected_input(3, 33); 2], "{format}");
    }
}

/// LeNet-5 takes one channel: colours are made grey, and what was grey stays so.
#[test]
fn a_grey_network_takes_any_data() {
    let (idx, cifar, images) = (small_data(8), cifar_10(), image_folder());
    let results = tempfile::tempdir().expect("a folder");
    for data in [&idx, &cifar, &images] {
        let (timeline, _) = Run { model: "lenet5", side: 32, ..Run::train(data.path(), results.path()) }.works();
        assert_eq!(input_bytes(&timeline), [expected_input(1, 32); 2]);
    }
}

/// Inference reads the test part where there is one.
#[test]
fn inference_has_the_test_part() {
    let (cifar, images) = (cifar_10(), image_folder());
    let results = tempfile::tempdir().expect("a folder");
    for (data, count) in [(&cifar, 2), (&images, 4)] {
        let (timeline, _) = Run { mode: "infer", ..Run::train(data.path(), results.path()) }.works();
        assert_eq!(timeline.run["data_images"], count);
        assert_eq!(input_bytes(&timeline), [expected_input(3, 33); 2]);
    }
}

/// Cats are red, and dogs are not. Two classes that nothing is known of would be ln 2 = 0.69.
#[test]
fn the_loss_falls_on_a_folder_of_images() {
    let images = image_folder();
    let more = ["--json-times", "--classes", "2", "--lr", "0.05"];
    let losses = || {
        let args = ["train", "--model", "mobilenet_v1_025", "--data", text(images.path()), "--track", "off"];
        let size = ["--batch", "4", "--image-size", "33", "--steps", "12", "--threads", "1"];
        let ran = trainer(&[&args[..], &size, &more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let times: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON and nothing else on stdout");
        let losses = times["loss"].as_array().expect("a list");
        losses.iter().map(|loss| loss.as_f64().expect("a number")).collect::<Vec<f64>>()
    };
    let first = losses();
    assert!(first[11] < first[0] / 2.0, "{first:?}");
    assert_eq!(losses(), first, "one seed, one run, bit for bit");
}

#[test]
fn what_a_folder_holds_must_be_clear() {
    let results = tempfile::tempdir().expect("a folder");
    let mixed = cifar_10();
    fs::write(mixed.path().join("t10k-labels-idx1-ubyte"), "").expect("written");
    let several = ["several data sets", "IDX files", "CIFAR-10 (data_batch_1.bin)", "give one of them with --data DIR"];
    refused(&Run::train(mixed.path(), results.path()).with(&[]), &several);
    // An image that is in no class.
    let flat = folder(&[("1.png", Vec::new())]);
    let nothing =
        ["no data set is in the folder", "train-images-idx3-ubyte.gz", "train.bin", "CLASS/*.png", "--data DIR"];
    refused(&Run::train(flat.path(), results.path()).with(&[]), &nothing);
    assert_eq!(fs::read_dir(results.path()).expect("readable").count(), 0, "nothing was begun");
}

#[test]
fn damaged_cifar_files_are_told_with_the_offset() {
    let results = tempfile::tempdir().expect("a folder");
    let cifar = cifar_10();
    let run = || Run::train(cifar.path(), results.path()).with(&[]);
    let second = cifar.path().join("data_batch_2.bin");
    let whole = fs::read(&second).expect("readable");
    fs::write(&second, &whole[..whole.len() - 1]).expect("written");
    refused(&run(), &["data_batch_2.bin: truncated: image 2 begins at byte 6146", "unpack the archive again"]);
    fs::write(&second, records(&[&[1], &[12]])).expect("written");
    refused(&run(), &["data_batch_2.bin: byte 3073: class 12 of image 1, and the set has 10 (0 to 9)"]);
    fs::write(&second, &whole).expect("written");
    let few = Run::train(cifar.path(), results.path()).with(&["--classes", "9"]);
    refused(&few, &["data_batch_1.bin: byte 6146: label 9 found", "give --classes 10 or more"]);
    assert_eq!(fs::read_dir(results.path()).expect("readable").count(), 0, "nothing was begun");
}

#[test]
fn damaged_image_folders_are_told_with_the_file() {
    let results = tempfile::tempdir().expect("a folder");
    let images = image_folder();
    let run = || Run::train(images.path(), results.path()).with(&[]);
    let (photo, empty) = (images.path().join("cat/2.jpg"), images.path().join("bird"));
    let whole = fs::read(&photo).expect("readable");
    fs::write(&photo, &whole[..whole.len() - 2]).expect("written");
    let end = format!("2.jpg: truncated: it ends at byte {}", whole.len() - 2);
    refused(&run(), &[&end, "replace the file, or remove it"]);
    fs::write(&photo, "no image at all").expect("written");
    refused(&run(), &["2.jpg: not a readable image", "replace the file, or remove it"]);
    fs::write(&photo, &whole).expect("written");
    fs::create_dir(&empty).expect("made");
    refused(&run(), &["bird: the folder of this class holds no .png", "put images into it, or remove it"]);
    fs::remove_dir(&empty).expect("removed");
    let few = Run::train(images.path(), results.path()).with(&["--classes", "1"]);
    refused(&few, &["label 1 found", "give --classes 2 or more"]);
    assert_eq!(fs::read_dir(results.path()).expect("readable").count(), 0, "nothing was begun");
    assert_eq!(run().code, Some(0), "and whole again it works");
}
