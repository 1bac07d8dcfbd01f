//! A training step on a device: each block has its layer, phase, operator and category, on the engine's thread too, and at
//! the peak they sum to what the allocator told.
use std::collections::{BTreeMap, BTreeSet};

use alloc_interpose as _;
use alloc_timeline::{Category, DeviceMemory, Timeline};
use alloc_tracker::{Session, devices, hooks, layer, phase};
use fake_device::Told;
use tch::{Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// 4 KiB of floats.
const ELEMENTS: i64 = 1024;
const BYTES: u64 = 4 * ELEMENTS as u64;

fn weights() -> Tensor {
    fake_device::full(ELEMENTS, 0.5).expect("room").set_requires_grad(true)
}

/// Two layers with weights of their own; the mean as loss.
fn step(first: &Tensor, second: &Tensor) {
    let images = {
        let _phase = phase!("data");
        fake_device::full(ELEMENTS, 2.0).expect("room")
    };
    let map = {
        let _phase = phase!("forward");
        let map = {
            let _layer = layer!("first");
            &images * first
        };
        let _layer = layer!("second");
        &map * second
    };
    let loss = {
        let _phase = phase!("loss");
        let _layer = layer!("loss");
        map.mean(Kind::Float)
    };
    drop(map);
    let _phase = phase!("backward");
    loss.backward();
}

/// The most bytes that were handed out, from the allocator's own list of blocks; which blocks lived at the latest instant at
/// which that was so, by how many of each size.
fn most(told: &[Told]) -> (u64, BTreeMap<u64, u64>) {
    let (mut live, mut now, mut most) = (BTreeMap::new(), 0, (0, BTreeMap::new()));
    for event in told {
        now += event.bytes;
        if event.bytes > 0 {
            live.insert(event.address, event.bytes as u64);
        } else {
            live.remove(&event.address);
        }
        if now >= most.0 {
            let mut sizes = BTreeMap::new();
            live.values().for_each(|&bytes| *sizes.entry(bytes).or_default() += 1);
            most = (now, sizes);
        }
    }
    (most.0 as u64, most.1)
}

/// Category, phase, layer and operator of each row of the peak, with its bytes.
fn rows(timeline: &Timeline, device: &DeviceMemory) -> Vec<(Category, [String; 3], u64)> {
    let peak = device.peak.as_ref().expect("a peak");
    let row = |row: &alloc_timeline::Row| {
        let scope = &timeline.scopes[row.scope as usize];
        (row.category, [scope.phase.clone(), scope.layer.clone(), scope.op.clone()], row.usable_bytes)
    };
    peak.rows.iter().map(row).collect()
}

#[test]
fn a_step_on_a_device() {
    fake_device::register();
    alloc_torch::install().expect("libtorch's malloc is the tracker's");
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("device.timeline.json");
    let session = Session::builder().output(&out).start().expect("starts");
    let (first, second) = {
        let _phase = phase!("init");
        // Made in no layer: the label's path names it.
        let (first, second) = (weights(), weights());
        for (tensor, path) in [(&first, "first"), (&second, "second")] {
            let block = tensor.data_ptr().cast::<u8>();
            hooks::label(block, Category::Parameter, Some(hooks::name(path))).expect("the block of a device is known");
            assert_eq!(hooks::layer_of(block), Some(hooks::name(path)));
        }
        (first, second)
    };
    step(&first, &second);
    for (tensor, layer) in [(&first, "first"), (&second, "second")] {
        let gradient = tensor.grad().data_ptr().cast::<u8>().cast_const();
        assert_eq!(hooks::layer_of(gradient), Some(hooks::name(layer)), "made on the engine's thread");
    }
    // 64 TiB are more than any kernel hands out.
    assert!(fake_device::full(1 << 44, 0.0).is_none());
    let gpu = devices::device(fake_device::NAME).expect("known");
    let stats = devices::device_stats(gpu).expect("the allocator answers");
    let totals = devices::totals(gpu).expect("events came");
    session.finish().expect("written");
    let told = fake_device::told();
    let timeline = alloc_timeline::load(&out).expect("a timeline");

    let [device] = &timeline.devices[..] else { panic!("one device: {:?}", timeline.devices) };
    let frees = told.iter().filter(|event| event.bytes < 0).count() as u64;
    assert_eq!(
        (device.device.as_str(), device.source.as_str()),
        (fake_device::NAME, "events of the caching allocator")
    );
    assert_eq!((device.allocations, device.frees), (Some(told.len() as u64 - frees), Some(frees)));

    // The peak is the allocator's own, to the byte and to the block.
    let (most, sizes) = most(&told);
    let peak = device.peak.as_ref().expect("a peak");
    assert_eq!((peak.live_bytes, stats.allocated.most), (most, most));
    assert_eq!(peak.rows.iter().map(|row| row.usable_bytes).sum::<u64>(), most);
    assert_eq!(peak.rows.iter().map(|row| row.blocks).sum::<u64>(), sizes.values().sum::<u64>());
    assert_eq!((totals.allocated, totals.reserved), (stats.allocated.now, stats.reserved.now));
    assert_eq!(device.reserved_bytes, Some(stats.reserved.most));

    let refused = |mark: &&alloc_timeline::Mark| mark.name == "fake:0 has no room for 70368744177664 bytes";
    assert_eq!(timeline.marks.iter().filter(refused).count(), 1);

    // The backward pass ran on a thread of the engine, and its blocks have layers and phases all the same.
    let threads: BTreeSet<i64> = told.iter().map(|event| event.thread).collect();
    assert_eq!(threads.len(), 2, "this thread and the engine's");
    // The peak is where the multiplication of the second layer has made both of its gradients: the weights' and the map's.
    let block =
        |category, [phase, layer, op]: [&str; 3], bytes| (category, [phase, layer, op].map(str::to_owned), bytes);
    let expected = [
        block(Category::Parameter, ["init", "first", "aten::empty"], BYTES),
        block(Category::Parameter, ["init", "second", "aten::empty"], BYTES),
        block(Category::Input, ["data", "", "aten::empty"], BYTES),
        block(Category::Activation, ["forward", "first", "aten::mul"], BYTES),
        block(Category::Activation, ["loss", "loss", "aten::mean"], fake_device::ROUNDING),
        block(Category::Activation, ["backward", "", "aten::ones_like"], fake_device::ROUNDING),
        block(Category::Activation, ["backward", "loss", "MeanBackward0"], BYTES),
        block(Category::Gradient, ["backward", "second", "MulBackward0"], BYTES),
        block(Category::Activation, ["backward", "second", "MulBackward0"], BYTES),
    ];
    assert_eq!(rows(&timeline, device), expected);
}
