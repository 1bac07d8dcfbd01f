//! The 21 rows: every system and experiment of the seed documents.
//!
//! ```text
//! checkpoints     18
//! formulas        17
//! categories      14
//! optimizers      9
//! suite           11
//! operations      3, 20
//! account         19
//! ```
mod shared;

mod account;
mod categories;
mod checkpoints;
mod formulas;
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
        work: Err("`cargo xtask demo` draws the heaps; a page of them does not exist"),
    },
    Row {
        number: 2,
        title: "Peak memory of a GPU, and the heap beside it",
        seed: "000, Figure 6",
        published: "With a GPU the heap peaks at 1.8 GB for both networks. In all, MobileNetV1 needs 4.4 GB on a CPU and 4.0 GB with a \
                    GPU, ResNet-18 3.0 and 3.3 GB. The GPU's memory stays within 100 MB.",
        work: Err("no page puts the peak of a GPU beside the heap's"),
    },
    operations::TIME_BY_OPERATION,
    Row {
        number: 4,
        title: "One convolution: kernels of 1 to 11",
        seed: "000, Figure 7",
        published: "32 channels in and out, 256 x 256 pixels, batch 4 in inference and 32 in training: the time rises faster with the \
                    kernel beyond 5 x 5, and on a Jetson 5 x 5 and 3 x 3 together take less time than one 7 x 7.",
        work: Err("`trainer conv-bench` measures it; a page that reads its table does not exist"),
    },
    Row {
        number: 5,
        title: "Time for an image against the batch",
        seed: "000, Figures 8 and 9",
        published: "On a CPU a larger batch does not make an image significantly faster; on a Jetson's GPU it does.",
        work: Err("`trainer sweep` measures it; a page that reads its table does not exist"),
    },
    Row {
        number: 6,
        title: "A random part of the filters or layers is trained: LeNet on MNIST",
        seed: "000, Figure 10",
        published: "Training 60 % of the network costs 2 to 3 % of accuracy and saves more than 50 % of the time at batch 64, but only \
                    14 % of the memory.",
        work: Err("`trainer train --train-only` does it, and VARIATIONS has small runs; a page of them does not exist"),
    },
    Row {
        number: 7,
        title: "The same with ResNet-18 on CIFAR-10",
        seed: "000, Figure 11",
        published: "Training 20 or 40 % of the layers costs 10 to 15 % of accuracy.",
        work: Err("`trainer train --train-only` does it, and VARIATIONS has small runs; a page of them does not exist"),
    },
    Row {
        number: 8,
        title: "Transfer learning with a part of the layers in each step",
        seed: "000, Figure 12",
        published: "Accuracy drops significantly against training the whole network.",
        work: Err("`trainer train --train-only` does it, and VARIATIONS has small runs; a page of them does not exist"),
    },
    optimizers::ROW,
    Row {
        number: 10,
        title: "Samples every 10 ms, joined with the operators that ran",
        seed: "001, Section 3",
        published: "The tool records when each operation begins and ends, samples the hardware every 10 ms, and joins the two by time.",
        work: Err(
            "`viewer power` measures what such a join gives to a wrong name; a page that reads its answer does not exist",
        ),
    },
    suite::ROW,
    Row {
        number: 12,
        title: "How busy the processors are",
        seed: "001, Observations 1 to 5, Figures 3 to 5",
        published: "Each core of a TX2's CPU is busy 0 to 60 % of the time, its GPU 71 to 96 %. The pattern repeats with each step. From \
                    batch 4 to 64 the CPU's use changes by 2.1 % on average.",
        work: Err("`viewer power` measures it; a page that reads its answer does not exist"),
    },
    Row {
        number: 13,
        title: "Energy of a step against the batch",
        seed: "001, Observations 6 to 8, Figures 6 and 7",
        published: "A batch 16 times as large takes 2.2 to 10.5 times the energy.",
        work: Err("`viewer power` measures it where a sensor can be read; no page was ever made on such a machine"),
    },
    categories::ROW,
    Row {
        number: 15,
        title: "Throughput against the batch",
        seed: "001, Observations 10 and 11, Figure 8",
        published: "From batch 4 to 64 on a TX2, ResNet50 goes from 9 to 55 samples a second (6.1 times), a deep reinforcement learner \
                    from 889 to 13,618 (15.3 times), DenseNet 1.7 times. Throughput rises with the batch for all models.",
        work: Err("`trainer sweep` measures it; a page that reads its table does not exist"),
    },
    Row {
        number: 16,
        title: "Fine-tuning on the device, 64 images a day",
        seed: "001, Observation 12, Figure 10",
        published: "The accuracy of DenseNet40 rises from 60.65 to 61.32 % in 17 days.",
        work: Err("`trainer train --days` does it, and VARIATIONS has small runs; a page of them does not exist"),
    },
    formulas::ROW,
    checkpoints::ROW,
    account::ROW,
    operations::STEP_BREAKDOWN,
    Row {
        number: 21,
        title: "Mixed precision against fp32, five runs each",
        seed: "004, Figures 2 and 3",
        published: "Mixed precision is 6 % faster in the mean, with a wider spread of accuracy.",
        work: Err("no command repeats a run in both precisions and reports accuracy yet"),
    },
];
