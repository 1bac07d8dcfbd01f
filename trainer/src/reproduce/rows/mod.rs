//! The 21 rows: every system and experiment of the seed documents.
//!
//! ```text
//! checkpoints     18
//! formulas        17
//! categories      14
//! convolution     4
//! batches         5, 15
//! optimizers      9
//! suite           11
//! operations      3, 20
//! books           10, 12, 13
//! limits          19
//! ```
mod shared;

mod batches;
mod books;
mod categories;
mod checkpoints;
mod convolution;
mod formulas;
mod limits;
mod operations;
mod optimizers;
mod suite;

use super::spec::Row;

/// The rows, in the order of their numbers.
pub(super) const ROWS: [Row; 21] = [
    Row {
        number: 1,
        title: "Heap over time, training and inference",
        seed: "000, Figures 2 to 5",
        published: "In massif's heap profiles of MobileNetV1 and ResNet-18 convolutions own most memory and batch norms come \
                    second. MobileNetV1 needs more than ResNet-18, in training and in inference.",
        work: None,
    },
    Row {
        number: 2,
        title: "Peak memory of a GPU, and the heap beside it",
        seed: "000, Figure 6",
        published: "With a GPU the heap peaks at 1.8 GB for both networks. In all, MobileNetV1 needs 4.4 GB on a CPU and 4.0 GB with a \
                    GPU, ResNet-18 3.0 and 3.3 GB. The GPU's memory stays within 100 MB.",
        work: None,
    },
    operations::TIME_BY_OPERATION,
    convolution::ROW,
    batches::TIME_FOR_AN_IMAGE,
    Row {
        number: 6,
        title: "A random part of the filters or layers is trained: LeNet on MNIST",
        seed: "000, Figure 10",
        published: "Training 60 % of the network costs 2 to 3 % of accuracy and saves more than 50 % of the time at batch 64, but only \
                    14 % of the memory.",
        work: None,
    },
    Row {
        number: 7,
        title: "The same with ResNet-18 on CIFAR-10",
        seed: "000, Figure 11",
        published: "Training 20 or 40 % of the layers costs 10 to 15 % of accuracy.",
        work: None,
    },
    Row {
        number: 8,
        title: "Transfer learning with a part of the layers in each step",
        seed: "000, Figure 12",
        published: "Accuracy drops significantly against training the whole network.",
        work: None,
    },
    optimizers::ROW,
    books::SAMPLING,
    suite::ROW,
    books::UTILISATION,
    books::ENERGY,
    categories::ROW,
    batches::THROUGHPUT,
    Row {
        number: 16,
        title: "Fine-tuning on the device, 64 images a day",
        seed: "001, Observation 12, Figure 10",
        published: "The accuracy of DenseNet40 rises from 60.65 to 61.32 % in 17 days.",
        work: None,
    },
    formulas::ROW,
    checkpoints::ROW,
    limits::ROW,
    operations::STEP_BREAKDOWN,
    Row {
        number: 21,
        title: "Mixed precision against fp32, five runs each",
        seed: "004, Figures 2 and 3",
        published: "Mixed precision is 6 % faster in the mean, with a wider spread of accuracy.",
        work: None,
    },
];
