//! The small character-level network of Zhang, Zhao and LeCun (2015): six convolutions along the text, three full layers.
//! Each convolution and what follows it is one `nn.Sequential`, as in the well-known PyTorch ports.
use crate::model::op::{Op, Place, SequenceOp};
use crate::model::stage::{Chain, Stage};

/// Characters of the alphabet, each a channel.
const CHARACTERS: u64 = 70;
/// Channels of every convolution.
const WIDTH: u64 = 256;
/// Width of a convolution's window, and of the pool behind it, if there is one.
const CONVOLUTIONS: [(u64, Option<u64>); 6] =
    [(7, Some(3)), (7, Some(3)), (3, None), (3, None), (3, None), (3, Some(3))];
/// Places that are left of 1014 characters: (1014 - 96) / 27.
const PLACES: u64 = 34;

/// The stages for texts of 1014 characters.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    chain.then("quantization", Op::Sequence(SequenceOp::OneHot { channels: CHARACTERS }));
    let mut from = CHARACTERS;
    for (number, (kernel, pool)) in (1..).zip(CONVOLUTIONS) {
        let convolution = Op::Sequence(SequenceOp::Conv1d { from, to: WIDTH, kernel });
        let pool = pool.map(|kernel| Op::Sequence(SequenceOp::MaxPool1d { kernel }));
        let ops = [convolution, Op::Relu(Place::InPlace)].into_iter().chain(pool);
        chain.sequence(&format!("conv{number}"), 0, ops);
        from = WIDTH;
    }
    chain.then("flatten", Op::Flatten);
    let dropout = Op::Dropout { percent: 50, place: Place::New };
    for (name, from) in [("fc1", WIDTH * PLACES), ("fc2", 1024)] {
        chain.sequence(name, 0, [Op::Linear { from, to: 1024 }, Op::Relu(Place::InPlace), dropout]);
    }
    chain.then("fc3", Op::Linear { from: 1024, to: classes });
    chain.into_stages()
}
