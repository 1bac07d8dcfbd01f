//! The 21 rows: every system and experiment of the seed documents.
//!
//! ```text
//! heap            1              sampling        10
//! gpu             2              suite           11
//! operations      3, 20          processors      12
//! convolution     4              energy          13
//! batches         5, 15          categories      14
//! parts           6, 7           days            16
//! transfer        8              formulas        17
//! optimizers      9              checkpoints     18
//! precisions      21             account, loading 19
//! ```
mod shared;

mod batches;
mod categories;
mod checkpoints;
mod convolution;
mod energy;
mod formulas;
mod gpu;
mod heap;
mod loading;
mod operations;
mod optimizers;
mod parts;
mod precisions;
mod processors;
mod sampling;
mod suite;

mod account;
mod days;
mod transfer;

use super::spec::Row;

/// The rows, in the order of their numbers.
pub(super) const ROWS: [Row; 21] = [
    heap::ROW,
    gpu::ROW,
    operations::TIME_BY_OPERATION,
    convolution::ROW,
    batches::TIME_FOR_AN_IMAGE,
    parts::LENET,
    parts::RESNET,
    transfer::ROW,
    optimizers::ROW,
    sampling::ROW,
    suite::ROW,
    processors::ROW,
    energy::ROW,
    categories::ROW,
    batches::THROUGHPUT,
    days::ROW,
    formulas::ROW,
    checkpoints::ROW,
    account::ROW,
    operations::STEP_BREAKDOWN,
    precisions::ROW,
];
