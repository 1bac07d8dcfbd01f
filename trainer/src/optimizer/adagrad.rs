//! AdaGrad (Duchi, Hazan and Singer, 2011), which tch has no binding for: each parameter's step is divided by the root of
//! the sum of its gradient's squares so far.
//!
//! PyTorch's makes the sums when it is built; this one in its first step, as libtorch's other optimizers do.
use tch::{Result, Tensor, no_grad};

/// Added to the root, so that nothing is divided by 0; PyTorch's value.
const EPSILON: f64 = 1e-10;

/// The parameters, and the sum that each has.
#[derive(Debug)]
pub(super) struct AdaGrad {
    lr: f64,
    parameters: Vec<(Tensor, Option<Tensor>)>,
}

impl AdaGrad {
    pub(super) fn new(lr: f64, parameters: Vec<Tensor>) -> AdaGrad {
        AdaGrad { lr, parameters: parameters.into_iter().map(|parameter| (parameter, None)).collect() }
    }

    /// Updates the parameters that have a gradient. A temporary of the parameter's size lives for each in turn.
    pub(super) fn step(&mut self) -> Result<()> {
        no_grad(|| self.parameters.iter_mut().try_for_each(|(parameter, sum)| update(parameter, sum, self.lr)))
    }
}

/// sum += g * g; parameter -= lr * g / (sqrt(sum) + epsilon).
fn update(parameter: &mut Tensor, sum: &mut Option<Tensor>, lr: f64) -> Result<()> {
    let gradient = parameter.grad();
    if !gradient.defined() {
        return Ok(());
    }
    let sum = match sum {
        Some(sum) => sum,
        None => sum.insert(parameter.f_zeros_like()?),
    };
    let sum = sum.f_addcmul_(&gradient, &gradient)?;
    // In place behind the root, so that there is one temporary and not three.
    let change = sum.f_sqrt()?.f_add_scalar_(EPSILON)?.f_reciprocal_()?.f_mul_(&gradient)?.f_mul_scalar_(-lr)?;
    parameter.f_add_(&change).map(drop)
}
