//! Which storages are what. With burn's feature `extension` a tensor shows the tensor of its backend, and that of Flex shows
//! its storage.
use alloc_tracker::Category;
use alloc_tracker::hooks::{self, LabelError, Name};
use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::kind::Autodiff;
use burn::tensor::{BackendPrimitive, Tensor};

/// Labels the storage of `tensor`. If it was allocated in no layer, it becomes the layer `layer`'s, if one is given.
///
/// Storages of less than 64 bytes cannot be labelled and stay without; and without a recording there is nothing to label.
///
/// # Panics
/// When the tensor is of another backend than Flex, or its storage no block of the tracker's.
pub fn label<const D: usize, K>(tensor: &Tensor<D, K>, category: Category, layer: Option<Name>)
where
    K: Autodiff + BackendPrimitive<Flex, Primitive = FlexTensor>,
{
    // A clone is one more handle of the same storage.
    let tensor = tensor.clone().inner().try_into_primitive::<Flex>().expect("a tensor of Flex");
    match hooks::label(tensor.bytes().as_ptr().cast_mut(), category, layer) {
        Ok(()) | Err(LabelError::TooSmall | LabelError::NotRecording) => {}
        Err(error) => panic!("a storage of Flex cannot be labelled: {error}"),
    }
}

/// Labels the parameters of `network`, and the gradients where there are some, each in its parameter's layer. An optimizer of
/// burn's makes new parameters in each step; Flex makes them in the storages of the old ones, unless somebody else holds
/// those.
pub fn network(network: &impl Module, gradients: Option<&GradientsParams>) {
    network.visit(&mut Walk { path: Vec::new(), gradients });
}

/// Where a walk over the modules is.
struct Walk<'a> {
    /// The fields that lead there: `conv1`, `weight`.
    path: Vec<String>,
    gradients: Option<&'a GradientsParams>,
}

impl ModuleVisitor for Walk<'_> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        let layers = self.path.len().saturating_sub(1);
        let layer = Some(hooks::name(&self.path[..layers].join(".")));
        label(&parameter.val(), Category::Parameter, layer);
        if let Some(gradient) = self.gradients.and_then(|gradients| gradients.get::<D>(parameter.id)) {
            label(&gradient, Category::Gradient, layer);
        }
    }
}
