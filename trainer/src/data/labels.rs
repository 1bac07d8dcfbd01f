//! Whether the network has an output for each label.
use super::error::DataError;

/// Checks that all labels are below `classes`. `place` says where the label of an image stands.
pub(super) fn below(classes: u64, labels: &[u32], place: impl Fn(usize) -> String) -> Result<(), DataError> {
    // The largest is told, so that the number of classes that is asked for is enough for all.
    let Some((index, &label)) = labels.iter().enumerate().rev().max_by_key(|&(_, label)| label) else { return Ok(()) };
    if u64::from(label) < classes {
        Ok(())
    } else {
        Err(DataError::LabelTooLarge { place: place(index), label, classes })
    }
}
