//! A module as a layer.
use alloc_tracker::layer as enter;
use tch::Tensor;
use tch::nn::ModuleT;

/// A module whose forward pass runs in a layer scope; see [`layer()`].
#[derive(Debug)]
pub struct Layer<M> {
    name: String,
    module: M,
}

/// Wraps `module` as layer `name`, within the layer around it if there is one.
///
/// ```no_run
/// use tch::nn;
///
/// let store = nn::VarStore::new(tch::Device::Cpu);
/// let hidden = nn::linear(store.root() / "hidden", 784, 256, Default::default());
/// let network = nn::seq_t()
///     .add(alloc_torch::layer("hidden", hidden))
///     .add(alloc_torch::layer("relu", nn::func(|xs| xs.relu())));
/// # let _ = network;
/// ```
pub fn layer<M: ModuleT>(name: &str, module: M) -> Layer<M> {
    Layer { name: name.to_owned(), module }
}

impl<M: ModuleT> ModuleT for Layer<M> {
    fn forward_t(&self, input: &Tensor, train: bool) -> Tensor {
        let _layer = enter(&self.name);
        self.module.forward_t(input, train)
    }
}
