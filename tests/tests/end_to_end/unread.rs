//! What nobody reads again: ResNet-18 as one chained expression holds every map to the end, and the timeline names each of
//! them to the byte. Written step by step it holds none, and needs as much as the chained run says it would.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Scope, Timeline, Unread, UnreadRow};
use tests::{Config, command, folder, requested_by_layer, run, stored, text, viewer};

const BATCH: u64 = 2;
const SIDE: u64 = 64;

fn inferred(more: &[&str]) -> Timeline {
    inferred_of(BATCH, SIDE, more)
}

fn inferred_of(batch: u64, side: u64, more: &[&str]) -> Timeline {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let config = Config { mode: "infer", ..Config::train("resnet18", batch, side, 2) };
    let ran = run(config.command(&out).args(more));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    alloc_timeline::load(&out).expect("a timeline")
}

fn unread(timeline: &Timeline) -> &Unread {
    timeline.unread.as_ref().expect("operators told what they read")
}

fn scope(timeline: &Timeline, number: Option<u32>) -> &Scope {
    &timeline.scopes[number.expect("a scope") as usize]
}

/// The activations that nobody read again and that were freed.
fn maps(timeline: &Timeline) -> Vec<&UnreadRow> {
    let is_map = |row: &&UnreadRow| row.category == Category::Activation && row.freed;
    unread(timeline).rows.iter().filter(is_map).collect()
}

/// The output of each layer that makes a map of its own; the others work in place. Fully connected ones are left out.
fn shapes() -> BTreeMap<String, u64> {
    let mut maps = BTreeMap::new();
    let map = |channels: u64, side: u64| BATCH * channels * side * side * 4;
    let mut side = SIDE / 2;
    maps.extend(["conv1", "bn1"].map(|layer| (layer.to_owned(), map(64, side))));
    side /= 2;
    maps.insert("maxpool".to_owned(), map(64, side));
    for (group, channels) in [(1, 64), (2, 128), (3, 256), (4, 512)] {
        side /= if group > 1 { 2 } else { 1 };
        for block in 0..2 {
            let downsample: &[&str] = if group > 1 && block == 0 { &["downsample.0", "downsample.1"] } else { &[] };
            for name in ["conv1", "bn1", "conv2", "bn2"].iter().chain(downsample) {
                maps.insert(format!("layer{group}.{block}.{name}"), map(channels, side));
            }
        }
    }
    maps
}

#[test]
fn a_chained_expression_holds_every_map_and_each_is_named() {
    let timeline = inferred(&["--chained"]);
    let shapes = shapes();
    assert_eq!(shapes.len(), 41, "20 convolutions, as many batch norms, one pool");
    let mut found = BTreeMap::new();
    for row in maps(&timeline) {
        let (made, freed) = (scope(&timeline, row.made_in), scope(&timeline, row.freed_in));
        *found.entry(made.layer.clone()).or_insert(0) += row.sums.requested_bytes;
        // At the end of the statement, outside of every layer, long after the operator that read it last.
        assert_eq!((freed.phase.as_str(), freed.layer.as_str(), freed.op.as_str()), ("infer", "", ""), "{made:?}");
        assert!(row.freed_ns > row.read_ns && row.reads > 0, "{row:?}");
    }
    // Which layers are still at work at the peak depends on the workspace of the convolutions.
    let at_peak = requested_by_layer(&timeline, &timeline.peak, Category::Activation);
    let needed: BTreeMap<&String, &u64> = at_peak.iter().filter(|(layer, _)| !found.contains_key(*layer)).collect();
    assert!(found.len() >= 35 && needed.len() <= 4, "{found:?} {needed:?}");
    for (layer, bytes) in &found {
        assert_eq!(shapes.get(layer), Some(bytes), "{layer}");
        assert_eq!(at_peak.get(layer), Some(bytes), "{layer}");
    }
    let readers: BTreeMap<&str, [&str; 2]> = (maps(&timeline).iter())
        .map(|row| {
            let read = scope(&timeline, row.read_in);
            (scope(&timeline, row.made_in).layer.as_str(), [read.layer.as_str(), read.op.as_str()])
        })
        .collect();
    assert_eq!(readers["conv1"], ["bn1", "aten::batch_norm"]);
    assert_eq!(readers["bn1"], ["maxpool", "aten::max_pool2d"], "ReLU works in place");
    assert_eq!(readers["layer2.0.bn2"], ["layer2.1", "aten::add_"], "the shortcut is read last by the sum");
}

/// The two runs differ by some headers of tensors alone: by less than what batches leave open.
#[test]
fn the_steps_need_what_the_chained_run_says_it_would() {
    let (chained, steps) = (inferred(&["--chained"]), inferred(&[]));
    assert_eq!(maps(&steps), Vec::<&UnreadRow>::new(), "written step by step, no map is held for nothing");
    let [would, does] = [&chained, &steps].map(|timeline| unread(timeline).prompt_peak_bytes);
    let slack = chained.peak.slack_bytes + steps.peak.slack_bytes;
    assert!(would.abs_diff(does) <= slack, "{would} {does}");
    assert!(would < chained.peak.live_bytes, "{would}");
    // Of its peak nothing could go but what the batch holds.
    let freed = unread(&steps).rows.iter().filter(|row| row.freed && row.category == Category::Input);
    let held: u64 = freed.map(|row| row.sums.usable_bytes).sum();
    assert!(steps.peak.live_bytes - does <= held, "{} {does} {held}", steps.peak.live_bytes);
}

/// 8 images of 224x224. With ReLU and sums that make maps of their own, one expression holds 258.6 MiB at its peak, and one
/// expression for each convolution with its batch norm and ReLU holds 73.5 MiB. Maps and workspace alone are counted:
/// parameters, images and what is no storage are the same in both runs. MiB are 2^20 bytes.
#[test]
fn one_expression_holds_258_6_mib_where_73_5_are_held_by_many() {
    let [whole, units, steps] = [&["--chained"][..], &["--chained=units"], &[]]
        .map(|written| inferred_of(8, 224, &[&["--in-place", "off"], written].concat()));
    let map = |channels: u64, side: u64| 8 * channels * side * side * 4;
    let stem = map(64, 112);
    assert_eq!(stem, 25_690_112, "24.5 MiB: the output of conv1, of bn1, and of relu");
    let at_peak = |timeline: &Timeline| -> u64 {
        requested_by_layer(timeline, &timeline.peak, Category::Activation).values().sum()
    };
    let unread_maps = |timeline: &Timeline| maps(timeline).iter().map(|row| row.sums.requested_bytes).sum::<u64>();

    // At the first ReLU: what conv1, bn1 and the ReLU made. Batch norm has read the first for the last time.
    assert_eq!((at_peak(&units), unread(&units).workspace.requested_bytes), (3 * stem, 0));
    assert_eq!(3 * stem, 77_070_336, "73.5 MiB");
    let held: Vec<_> = maps(&units).iter().map(|row| scope(&units, row.made_in).layer.clone()).collect();
    assert_eq!((held, unread_maps(&units)), (vec!["conv1".to_owned()], stem));

    // Step by step the first two maps are enough, be it conv1's and its workspace or what batch norm or ReLU read and make.
    assert_eq!((at_peak(&steps) + unread(&steps).workspace.requested_bytes, unread_maps(&steps)), (2 * stem, 0));

    // In the last convolution but none, layer4.1.conv2, everything before it is still there: the stem and the pool, and for
    // each block five maps of its own, two more of a downsampling, the sum and the ReLU behind it.
    let shapes = [(64, 56, 0), (128, 28, 2), (256, 14, 2), (512, 7, 2)];
    let groups = shapes.map(|(channels, side, downsample)| (2 * 7 + downsample) * map(channels, side));
    let all = 3 * stem + map(64, 56) + groups.iter().sum::<u64>();
    let last = map(512, 7);
    let before = all - 4 * last;
    assert_eq!((all, before), (263_323_648, 260_112_384), "conv2, bn2, the sum and its ReLU are still to come");
    assert_eq!(at_peak(&whole), before);
    // Of these the convolution reads one, and the sum will read the shortcut.
    assert_eq!(unread_maps(&whole), before - 2 * last);
    assert_eq!(unread_maps(&whole), 258_506_752);
    // oneDNN copies the convolution's weights, its input and its output into the order that its code wants. Another
    // processor may want another.
    let workspace = unread(&whole).workspace.requested_bytes;
    if workspace != 512 * 512 * 3 * 3 * 4 + 2 * last {
        println!("SKIPPED: on this processor the convolution's workspace is {workspace} bytes, not 11,042,816");
        return;
    }
    assert_eq!(before + workspace, 271_155_200, "258.6 MiB");
    assert_eq!(before + workspace - 3 * stem, 194_084_864, "what the one expression costs, 185.1 MiB");
}

/// At the peak of training, in the backward pass, everything is read later: maps by the nodes, parameters, gradients and
/// momentum by the optimizer. What is left are running statistics, the labels, and the number with which backward begins.
#[test]
fn training_holds_little_for_nothing() {
    let timeline = Config::train("resnet18", BATCH, SIDE, 3).run();
    for row in &unread(timeline).rows {
        let is_small = row.sums.usable_bytes <= 64 * row.sums.blocks;
        assert!(row.category == Category::Buffer || is_small, "{row:?} of {:?}", scope(timeline, row.made_in));
    }
}

#[test]
fn without_reads_nothing_is_said() {
    let timeline = inferred(&["--reads", "off"]);
    assert_eq!(timeline.unread, None);
    let folder = folder();
    let ran = viewer(&["unread", text(&stored(&timeline, &folder, "run.timeline.json"))]);
    assert_eq!((ran.code, ran.stdout.contains("Not recorded")), (Some(0), true), "{}", ran.stderr);
}

/// `unread` answers as text and as JSON, and its parts sum to the peak.
#[test]
fn the_viewer_tells_it() {
    let timeline = inferred(&["--chained"]);
    let folder = folder();
    let path = stored(&timeline, &folder, "run.timeline.json");
    let ran = run(command("viewer").args(["unread", "--json"]).arg(&path));
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).expect("one JSON object and nothing else");
    let bytes = |part: &str| json[part]["usable_bytes"].as_u64().expect("bytes");
    let known: u64 = ["read_later", "workspace", "unread"].map(bytes).iter().sum();
    assert_eq!(Some(timeline.peak.live_bytes - known), json["unknown_bytes"].as_u64());
    let said = viewer(&["unread", text(&path)]).stdout;
    // The sentence is wrapped to the terminal's width.
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("phase infer, outside of any layer and operator, by the program itself"), "{said}");
}
