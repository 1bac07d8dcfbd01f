//! Parameters that move keep their layers: `half()` and the like give a variable another storage, loading does not, and tied
//! weights are one storage of two variables. Operators tell in which layer they run by the layer of what they allocate.
use alloc_interpose as _;
use alloc_tracker::hooks;
use tch::nn::{self, Module, VarStore};
use tch::{Device, Kind, Tensor};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// Two linear layers, of 300 and 200 features, that have been named.
fn network() -> (VarStore, nn::Linear, nn::Linear) {
    alloc_torch::install().expect("libtorch's allocations reach the tracker");
    let store = VarStore::new(Device::Cpu);
    let first = nn::linear(store.root() / "first", 300, 200, Default::default());
    let second = nn::linear(store.root() / "second", 200, 200, Default::default());
    alloc_torch::name_layers(&store);
    (store, first, second)
}

/// The layer that allocated a tensor's storage.
#[track_caller]
fn layer_of(tensor: &Tensor) -> &'static str {
    hooks::text(hooks::layer_of(tensor.data_ptr().cast_const().cast()).expect("a storage that the tracker knows"))
}

/// What each of the layers makes of a batch is its own.
#[track_caller]
fn each_has_its_own(first: &nn::Linear, second: &nn::Linear, kind: Kind) {
    let batch = Tensor::ones([64, 300], (kind, Device::Cpu));
    let hidden = first.forward(&batch);
    assert_eq!(layer_of(&hidden), "first");
    assert_eq!(layer_of(&second.forward(&hidden)), "second");
    // The backward pass too: the gradient of a weight is of its layer.
    second.forward(&hidden).sum(Kind::Float).backward();
    assert_eq!(["first", "second"], [first, second].map(|layer| layer_of(&layer.ws.grad())));
}

#[test]
fn as_they_were_named() {
    let (_store, first, second) = network();
    each_has_its_own(&first, &second, Kind::Float);
}

#[test]
fn of_another_precision() {
    let (mut store, first, second) = network();
    let before = first.ws.data_ptr();
    store.double();
    assert_ne!(before, first.ws.data_ptr(), "the weight moved");
    each_has_its_own(&first, &second, Kind::Double);
    let (mut store, first, second) = network();
    store.bfloat16();
    each_has_its_own(&first, &second, Kind::BFloat16);
}

/// To a device and back; with no other device here, to the same one, which is a copy by the tensor's own `to`.
#[test]
fn of_another_device() {
    let (_store, mut first, second) = network();
    for parameter in [&mut first.ws, first.bs.as_mut().expect("a bias")] {
        let moved = tch::no_grad(|| parameter.to_device_(Device::Cpu, Kind::Float, false, true));
        parameter.set_data(&moved);
    }
    each_has_its_own(&first, &second, Kind::Float);
}

#[test]
fn given_other_data() {
    let (_store, mut first, second) = network();
    let before = first.ws.data_ptr();
    first.ws.set_data(&Tensor::ones([200, 300], (Kind::Float, Device::Cpu)));
    assert_ne!(before, first.ws.data_ptr(), "the weight moved");
    each_has_its_own(&first, &second, Kind::Float);
}

#[test]
fn loaded() {
    let (mut store, first, second) = network();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("weights.safetensors");
    store.save(&path).expect("weights stored");
    store.load(&path).expect("weights loaded");
    each_has_its_own(&first, &second, Kind::Float);
}

/// The second layer is given the first one's square weight: one storage, and each layer is still itself.
#[test]
fn tied() {
    alloc_torch::install().expect("libtorch's allocations reach the tracker");
    let store = VarStore::new(Device::Cpu);
    let without_bias = nn::LinearConfig { bias: false, ..Default::default() };
    let first = nn::linear(store.root() / "first", 300, 300, without_bias);
    let mut second = nn::linear(store.root() / "second", 300, 300, without_bias);
    alloc_torch::name_layers(&store);
    second.ws.set_data(&first.ws);
    assert_eq!(first.ws.data_ptr(), second.ws.data_ptr(), "one storage");
    let hidden = first.forward(&Tensor::ones([64, 300], (Kind::Float, Device::Cpu)));
    assert_eq!(layer_of(&hidden), "first");
    assert_eq!(layer_of(&second.forward(&hidden)), "second");
    assert_eq!(layer_of(&first.forward(&hidden)), "first");
}
