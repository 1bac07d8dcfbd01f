//! Activations against parameters: MobileNetV1 keeps 38.5 MiB an image and has 16 MiB of parameters, ResNet-18 keeps
//! 20.6 MiB and has 44.6, three times over in training (gradients, momentum). At 3 x 16.1 + 38.5 b = 3 x 44.6 + 20.6 b
//! the two meet at a batch of about 4.8.
use tests::Config;

fn peak(model: &'static str, batch: u64) -> u64 {
    Config::train(model, batch, 224, 2).run().peak.live_bytes
}

#[test]
fn resnet18_is_larger_at_batch_4() {
    let (mobilenet, resnet) = (peak("mobilenet_v1", 4), peak("resnet18", 4));
    assert!(mobilenet < resnet, "{mobilenet} against {resnet}");
}

#[test]
fn mobilenet_v1_is_larger_at_batch_8() {
    let (mobilenet, resnet) = (peak("mobilenet_v1", 8), peak("resnet18", 8));
    assert!(mobilenet > resnet, "{mobilenet} against {resnet}");
}
