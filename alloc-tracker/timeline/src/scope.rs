//! The owners of bytes. An owner is a scope (phase, layer and operator) and a category.
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The name, in every `by_*` table, of bytes that belong to no phase, layer or operator.
pub const NONE: &str = "(none)";

/// What was active when a block was allocated. An empty string means that no phase, layer or operator was.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// Phase of the run: `init`, `data`, `forward`, `loss`, `backward`, `optimizer`, `infer`, ...
    pub phase: String,
    /// Dotted layer path, as PyTorch names modules: `layer1.0.conv1`.
    pub layer: String,
    /// Outermost operator, as ATen or autograd names it: `aten::conv2d`, `ConvolutionBackward0`.
    pub op: String,
}

/// What a block is for. Tensor storages that outlive their operator have one of the first six categories. Workspace may
/// be a tensor storage or not. All other blocks have one of the last three.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A trainable variable of the model.
    Parameter,
    /// A model's tensor that is not trained: batch norm's running statistics.
    Buffer,
    /// The gradient of a parameter.
    Gradient,
    /// A tensor made by forward, loss or backward that outlives the operator that made it.
    Activation,
    /// What the optimizer keeps between steps: momentum, second moments.
    OptimizerState,
    /// A batch: images and labels.
    Input,
    /// Allocated and freed inside one outermost operator.
    Workspace,
    /// Blocks of libtorch that are no tensor storage: TensorImpl, autograd nodes, C++ containers.
    Metadata,
    /// Allocated before `main`: start-up of the shared libraries.
    Runtime,
    /// Everything else, such as the program's own Vecs.
    Other,
}

impl Category {
    /// What memory is that was labelled with `before` and now is with this category. What is kept from one batch to the next becomes no input
    /// because a network is given it.
    #[must_use]
    pub fn after(self, before: Category) -> Category {
        use Category::{Buffer, Gradient, OptimizerState, Parameter};
        let is_kept = matches!(before, Parameter | Buffer | Gradient | OptimizerState);
        if self == Category::Input && is_kept { before } else { self }
    }

    /// All categories, in the order in which they are drawn and listed.
    pub const ALL: [Category; 10] = [
        Category::Parameter,
        Category::Buffer,
        Category::Gradient,
        Category::Activation,
        Category::OptimizerState,
        Category::Input,
        Category::Workspace,
        Category::Metadata,
        Category::Runtime,
        Category::Other,
    ];

    /// The name in files and on screens: `optimizer_state`.
    pub fn name(self) -> &'static str {
        match self {
            Category::Parameter => "parameter",
            Category::Buffer => "buffer",
            Category::Gradient => "gradient",
            Category::Activation => "activation",
            Category::OptimizerState => "optimizer_state",
            Category::Input => "input",
            Category::Workspace => "workspace",
            Category::Metadata => "metadata",
            Category::Runtime => "runtime",
            Category::Other => "other",
        }
    }

    /// Whether blocks of this category are tensor storages whose sizes depend on the model alone. Their sum is the same to
    /// the byte in all runs of one configuration.
    pub fn is_tensor(self) -> bool {
        matches!(
            self,
            Category::Parameter
                | Category::Buffer
                | Category::Gradient
                | Category::Activation
                | Category::OptimizerState
                | Category::Input
        )
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The four ways in which a total can be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// By phase.
    Phase,
    /// By layer path.
    Layer,
    /// By operator.
    Op,
    /// By category.
    Category,
}

impl Dimension {
    /// All four, in the order in which they are listed.
    pub const ALL: [Dimension; 4] = [Dimension::Phase, Dimension::Layer, Dimension::Op, Dimension::Category];

    /// The name in files and on screens: `phase`, `layer`, `op`, `category`.
    pub fn name(self) -> &'static str {
        match self {
            Dimension::Phase => "phase",
            Dimension::Layer => "layer",
            Dimension::Op => "op",
            Dimension::Category => "category",
        }
    }

    /// The name of an owner in this dimension; [`NONE`] where the scope has no such part.
    pub fn of(self, scope: &Scope, category: Category) -> &str {
        let name = match self {
            Dimension::Phase => scope.phase.as_str(),
            Dimension::Layer => scope.layer.as_str(),
            Dimension::Op => scope.op.as_str(),
            Dimension::Category => category.name(),
        };
        if name.is_empty() { NONE } else { name }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Bytes of one owner at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// What the blocks are for.
    pub category: Category,
    /// Bytes that the allocator set aside.
    pub usable_bytes: u64,
    /// Bytes that the callers asked for.
    pub requested_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
}

impl Row {
    /// Who the bytes belong to. The rows of a snapshot are in this order, and each owner has one.
    pub fn owner(&self) -> (u32, Category) {
        (self.scope, self.category)
    }
}

/// Sums `rows` by one dimension. `bytes` picks what is summed. The values sum to the rows' sum exactly.
pub fn split_by(rows: &[Row], scopes: &[Scope], dimension: Dimension, bytes: fn(&Row) -> u64) -> BTreeMap<String, u64> {
    let nobody = Scope::default();
    let mut parts = BTreeMap::new();
    for row in rows {
        let scope = scopes.get(row.scope as usize).unwrap_or(&nobody);
        let name = dimension.of(scope, row.category);
        let amount = bytes(row);
        if amount == 0 {
            continue;
        }
        match parts.get_mut(name) {
            Some(sum) => *sum += amount,
            None => {
                parts.insert(name.to_owned(), amount);
            }
        }
    }
    parts
}
