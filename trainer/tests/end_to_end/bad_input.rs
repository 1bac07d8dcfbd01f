//! What cannot work is refused before any training: exit code 2, nothing on stdout, no timeline, and a message that
//! says what, where and what to do next.
use std::path::Path;

use crate::common::{Ran, refused, small_data, trainer};

/// `trainer train --model resnet18 --data DATA --out OUT` and `more`.
fn train(data: &Path, out: &Path, more: &[&str]) -> Ran {
    let mut args = vec!["train", "--model", "resnet18", "--data", data.to_str().expect("UTF-8")];
    args.extend(["--out", out.to_str().expect("UTF-8"), "--steps", "1", "--batch", "2", "--image-size", "33"]);
    // What comes later on the command line would be a repetition: the test's own value replaces it here.
    for pair in more.chunks(2) {
        match args.iter().position(|arg| arg == &pair[0]) {
            Some(place) => args[place + 1] = pair[1],
            None => args.extend(pair),
        }
    }
    trainer(&args)
}

#[test]
fn amounts() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    refused(&train(data.path(), &out, &["--batch", "0"]), &["--batch 0", "give --batch 1 or more"]);
    refused(&train(data.path(), &out, &["--steps", "0"]), &["--steps 0", "give --steps 1 or more"]);
    refused(&train(data.path(), &out, &["--threads", "0"]), &["--threads 0", "give --threads 1 or more"]);
    refused(&train(data.path(), &out, &["--image-size", "0"]), &["--image-size 0", "the smallest that works"]);
    refused(&train(data.path(), &out, &["--batch", "many"]), &["invalid value 'many' for '--batch <N>'"]);
    refused(&train(data.path(), &out, &["--classes", "3"]), &["label 3 found", "give --classes 4 or more"]);
    refused(&train(data.path(), &out, &["--lr", "nan"]), &["--lr NaN", "give --lr 0.01"]);
    assert!(!out.exists(), "nothing was begun");
}

/// A folder with one text.
fn small_text(text: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("a.txt"), text).expect("written");
    folder
}

#[test]
fn lengths_of_texts() {
    let data = small_text(b"To be, or not to be, that is the question");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let read = |model: &str, more: &[&str]| {
        let (data, out) = (data.path().to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
        let args = ["train", "--model", model, "--data", data, "--out", out, "--batch", "2"];
        trainer(&[&args[..], more].concat())
    };
    refused(&read("lstm", &["--length", "0"]), &["--length 0", "the smallest that works is --length 1"]);
    refused(&read("lstm", &["--length", "many"]), &["invalid value 'many' for '--length <N>'"]);
    refused(&read("lstm", &["--image-size", "224"]), &["--image-size 224: lstm reads texts; leave it out"]);
    refused(&read("seq2seq", &["--length", "7"]), &["is odd", "give an even --length"]);
    refused(&read("bert_tiny", &["--length", "513"]), &["knows 512 places", "give --length 512 or less"]);
    refused(
        &read("char_cnn", &["--length", "64"]),
        &["--length 64: `conv", "the smallest that works is --length 1014"],
    );
    refused(&read("lstm", &["--length", "32"]), &["1 passages of 32 tokens", "give a smaller --batch or --length"]);
    refused(&trainer(&["plan", "--model", "resnet18", "--length", "8"]), &["--length 8: resnet18 reads images"]);
    assert!(!out.exists(), "nothing was begun");
}

#[test]
fn texts_that_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let read = |data: &Path, more: &[&str]| {
        let args = ["train", "--model", "bert_tiny", "--track", "off", "--data", data.to_str().expect("UTF-8")];
        trainer(&[&args[..], &["--batch", "1", "--length", "4"], more].concat())
    };
    refused(&read(&folder.path().join("none"), &[]), &["none: there is no such data folder", "--data DIR"]);
    refused(&read(folder.path(), &[]), &["no .txt or .md file is in this folder", "--data DIR"]);
    let latin = small_text(b"caf\xe9");
    refused(&read(latin.path(), &[]), &["a.txt: byte 3 is not UTF-8", "iconv -t UTF-8"]);
    let two = small_text(b"one");
    std::fs::write(two.path().join("b.md"), "two").expect("written");
    refused(&read(two.path(), &["--classes", "1"]), &["there are 2 texts", "give --classes 2 or more"]);
    let ran = crate::common::trainer_in(folder.path(), &["train", "--model", "lstm"]);
    refused(&ran, &["there is no folder docs here", "texts (.txt or .md) with --data DIR"]);
}

/// With a GPU of that number there is nothing to refuse: a machine with a thousand of them is not in sight.
#[test]
fn a_device_that_is_not_there() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let ran = train(data.path(), &out, &["--device", "cuda:1000"]);
    refused(&ran, &["--device cuda:1000: "]);
    let reasons =
        ["libtorch_cuda.so is not there", "cannot be loaded", "finds no GPU", "this machine's GPUs are cuda:0"];
    assert!(reasons.iter().any(|reason| ran.stderr.contains(reason)), "{}", ran.stderr);
    let lines = ran.stderr.lines().filter(|line| line.contains("error: ")).count();
    assert_eq!((lines, ran.stderr.lines().count()), (1, 1), "one line: {}", ran.stderr);
    refused(&train(data.path(), &out, &["--device", "gpu"]), &["gpu is no device; give cpu, or cuda:0"]);
    assert!(!out.exists(), "nothing was begun");

    let data = data.path().to_str().expect("UTF-8");
    refused(&trainer(&["compare", "--data", data, "--device", "cuda:1000"]), &["--device cuda:1000: "]);
    let fit = ["fit", "--model", "resnet18", "--budget", "1G", "--data", data, "--device", "cuda:0"];
    refused(&trainer(&fit), &["--device cuda:0: fit knows the memory of a process on a CPU"]);
}

#[test]
fn an_unknown_model_lists_the_known() {
    let ran = trainer(&["train", "--model", "vgg"]);
    refused(&ran, &["invalid value 'vgg'", "mobilenet_v1, resnet18"]);
}

#[test]
fn one_image_of_one_pixel_at_the_end() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let ran = train(data.path(), &out, &["--batch", "1", "--image-size", "32"]);
    refused(&ran, &["--image-size 32 with --batch 1", "layer4.0.bn1", "--image-size 33 or more, or --batch 2 or more"]);
}

#[test]
fn data_that_is_not_there_or_not_whole() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    refused(&train(&folder.path().join("none"), &out, &[]), &["none: there is no such data folder", "--data DIR"]);
    refused(&train(folder.path(), &out, &[]), &["neither train-images-idx3-ubyte nor", "--data DIR"]);

    let images = data.path().join("train-images-idx3-ubyte");
    let whole = std::fs::read(&images).expect("readable");
    std::fs::write(&images, &whole[..whole.len() - 1]).expect("written");
    let expected = whole.len().to_string();
    refused(&train(data.path(), &out, &[]), &["train-images-idx3-ubyte: truncated: expected", &expected]);
    std::fs::write(&images, b"PK\x03\x04").expect("written");
    refused(&train(data.path(), &out, &[]), &["not an IDX file of bytes"]);
    assert!(!out.exists(), "nothing was begun");
}

/// Without `--data`, and not in the repository's root.
#[test]
fn no_data_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let ran = crate::common::trainer_in(folder.path(), &["train", "--model", "resnet18"]);
    refused(&ran, &["there is no folder fixtures/fashion-mnist here", "--data DIR"]);
}

#[test]
fn output_that_cannot_be_written() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let missing = folder.path().join("none/a.timeline.json");
    refused(&train(data.path(), &missing, &[]), &["none: this output folder does not exist", "mkdir -p"]);
    // Not even root can make a file there.
    refused(&train(data.path(), Path::new("/proc/a.timeline.json"), &[]), &["/proc: this output folder cannot"]);
    refused(&train(data.path(), folder.path(), &[]), &["is a folder; give a file"]);
}

/// 20,000 images of 3 x 8192 x 8192 are 16 TB already. The kernel would grant that much and kill a process later, so the
/// trainer refuses.
#[test]
fn more_than_the_machine_has() {
    let data = small_data(4);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("a.timeline.json");
    let ran = train(data.path(), &out, &["--batch", "20000", "--image-size", "8192"]);
    refused(&ran, &["--batch 20000 with --image-size 8192: resnet18 needs at least", "the machine has"]);
    assert!(!out.exists(), "nothing was begun");
}

#[test]
fn compare_refuses_before_the_first_run() {
    let data = small_data(4);
    let data = data.path().to_str().expect("UTF-8");
    let ran = trainer(&["compare", "--data", data, "--out", "no/such/folder", "--steps", "1"]);
    refused(&ran, &["no/such/folder: this output folder does not exist"]);
    let ran = trainer(&["compare", "--data", data, "--batch", "0"]);
    refused(&ran, &["--batch 0"]);
}

/// dcgan and dqn fix their sizes themselves, and dqn alone has a replay buffer.
#[test]
fn what_only_some_networks_can_be_told() {
    let data = small_data(4);
    let data = data.path().to_str().expect("UTF-8");
    let train = |more: &[&str]| trainer(&[&["train", "--data", data, "--steps", "1"], more].concat());
    refused(
        &train(&["--model", "dcgan", "--image-size", "32"]),
        &["--image-size 32: dcgan works on images of 64x64 alone"],
    );
    refused(
        &train(&["--model", "dcgan", "--classes", "10"]),
        &["--classes 10: dcgan tells real images from made ones"],
    );
    refused(&train(&["--model", "dcgan", "--length", "10"]), &["--length 10: dcgan reads images"]);
    refused(&train(&["--model", "dcgan", "--chained"]), &["--chained: the steps of dcgan are not written as chained"]);
    refused(
        &train(&["--model", "dqn", "--image-size", "64"]),
        &["--image-size 64: dqn works on images of 84x84 alone"],
    );
    refused(&train(&["--model", "dqn", "--classes", "4"]), &["--classes 4: dqn knows the 3 actions of its game"]);
    refused(
        &train(&["--model", "dqn", "--chained=units"]),
        &["--chained: the steps of dqn are not written as chained"],
    );
    refused(&train(&["--model", "dqn", "--replay", "4"]), &["--replay 4: ", "give 5 or more"]);
    refused(
        &train(&["--model", "dqn", "--replay", "900000000"]),
        &["--replay 900000000: a buffer of so many moves takes 6355800 MB"],
    );
    refused(
        &train(&["--model", "lenet5", "--image-size", "32", "--replay", "100"]),
        &["--replay 100: only the training of dqn has a replay buffer"],
    );
    refused(&train(&["--model", "dcgan", "--beta1", "1.5"]), &["--beta1 1.5: it lies between 0 and 1"]);
    refused(&train(&["--model", "lenet5", "--image-size", "32", "--beta1", "0.5"]), &["--beta1 0.5: sgd has none"]);
    refused(
        &trainer(&["infer", "--model", "dqn", "--replay", "100"]),
        &["only the training of dqn has a replay buffer"],
    );
    refused(&trainer(&["plan", "--model", "dcgan", "--image-size", "32"]), &["dcgan works on images of 64x64 alone"]);
}
