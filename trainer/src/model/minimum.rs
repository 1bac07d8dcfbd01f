//! The minimum of memory that a run needs, from shapes alone: what certainly must be alive at one instant.
//!
//! It is a lower bound: workspaces of operators, the allocator and the libraries need memory besides. So a refusal for
//! lack of memory is never wrong. The check is needed because a huge request does not fail: the kernel grants it, finds
//! page by page that there is no memory, and then kills the process, or another one.
use super::plan::{F32, input_bytes, label_bytes, saved_for_backward};
use super::shape::{self, Misfit, Shape};
use super::stage::Stage;
use crate::precision::Precision;

/// Bytes that `batch` inputs of this shape need in training (`copies_of_parameters` counts the parameters
/// themselves and whatever the optimizer keeps of the size of those that learn) or, without `training`, in inference.
///
/// In 16 bits a map that fp32 keeps has half of its bytes, or more where libtorch computes in fp32 all the same. The casts of
/// the parameters come on top and are not counted.
pub fn minimum_bytes(
    stages: &[Stage],
    batch: u64,
    input: Shape,
    training: bool,
    copies_of_parameters: u64,
    precision: Precision,
) -> Result<u64, Misfit> {
    let parameters: u64 = stages.iter().map(|stage| stage.op.parameters()).sum();
    let learned: u64 = stages.iter().filter(|stage| stage.learns()).map(|stage| stage.op.parameters()).sum();
    let buffers: u64 = stages.iter().map(|stage| stage.op.buffers()).sum();
    let fixed = (parameters + learned * (copies_of_parameters - 1) + buffers) * F32
        + input_bytes(batch, input)
        + label_bytes(stages, batch, input)?;
    let maps = if training {
        saved_for_backward(stages, batch, input)?.values().sum()
    } else {
        // The largest map that any stage leaves; each map is freed when its successor exists.
        let largest = shape::shapes(stages, input)?.into_iter().skip(1).map(Shape::bytes).max();
        largest.unwrap_or(0) * batch
    };
    Ok(match precision {
        Precision::Fp32 => fixed + maps,
        Precision::Bf16 | Precision::Fp16 => fixed + maps / 2,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;

    /// ResNet-18, batch 1: 690,653,704 - 31 x 21,581,728 B are saved, the largest map is conv1's 64 x 112 x 112.
    #[test]
    fn training_keeps_all_maps_and_inference_one() {
        let stages = ModelName::ResNet18.stages(1000);
        let fixed = |copies: u64| 11_689_512 * 4 * copies + 9_600 * 4 + 3 * 224 * 224 * 4 + 8;
        let input = Shape::Maps { channels: 3, side: 224 };
        let least = |training, copies, precision| {
            minimum_bytes(&stages, 1, input, training, copies, precision).expect("224 fits")
        };
        let training = least(true, 2, Precision::Fp32);
        assert_eq!(training, fixed(2) + 690_653_704 - 31 * 21_581_728);
        let inference = least(false, 1, Precision::Fp32);
        assert_eq!(inference, fixed(1) + 64 * 112 * 112 * 4);
        assert_eq!(least(false, 1, Precision::Bf16), fixed(1) + 64 * 112 * 112 * 2, "the parameters stay as they are");
    }
}
