//! An optimizer that runs: libtorch's, or our own where tch has none.
use tch::nn::{self, OptimizerConfig};
use tch::{COptimizer, Result, Tensor};

use super::adagrad::AdaGrad;
use super::settings::{Optimizer, OptimizerName};

/// Updates parameters from their gradients. Its state is made in its first step.
#[derive(Debug)]
pub struct Updater {
    /// libtorch's; with an optimizer of our own it never steps, and only lets gradients go: tch's tensors cannot do that.
    libtorch: COptimizer,
    own: Option<AdaGrad>,
}

impl Updater {
    /// An optimizer over `parameters`. `COptimizer`, because tch's own wrapper panics on an error.
    ///
    /// # Errors
    /// When libtorch refuses the settings.
    pub fn new(optimizer: Optimizer, parameters: Vec<Tensor>) -> Result<Updater> {
        let lr = optimizer.lr();
        let momentum = optimizer.momentum().unwrap_or(0.0);
        let beta1 = optimizer.beta1().unwrap_or(0.0);
        let mut libtorch = match optimizer.name {
            OptimizerName::Sgd => nn::Sgd { momentum, ..nn::Sgd::default() }.build_copt(lr),
            OptimizerName::Nesterov => nn::Sgd { momentum, nesterov: true, ..nn::Sgd::default() }.build_copt(lr),
            OptimizerName::AdaGrad => nn::Sgd::default().build_copt(lr),
            OptimizerName::RmsProp => nn::RmsProp::default().build_copt(lr),
            OptimizerName::Adam => nn::Adam { beta1, ..nn::Adam::default() }.build_copt(lr),
            OptimizerName::AdamW => nn::AdamW { beta1, ..nn::AdamW::default() }.build_copt(lr),
        }?;
        for parameter in &parameters {
            libtorch.add_parameters(parameter, 0)?;
        }
        let own = (optimizer.name == OptimizerName::AdaGrad).then(|| AdaGrad::new(lr, parameters));
        Ok(Updater { libtorch, own })
    }

    /// Updates every parameter that has a gradient.
    ///
    /// # Errors
    /// When libtorch fails.
    fn step(&mut self) -> Result<()> {
        match &mut self.own {
            Some(own) => own.step(),
            None => self.libtorch.step(),
        }
    }

    /// Updates the parameters by their gradients, and lets these go.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn update(&mut self) -> Result<()> {
        self.step()?;
        self.zero_grad()
    }

    /// Lets the gradients go: they are none afterwards, not zeros.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn zero_grad(&mut self) -> Result<()> {
        self.libtorch.zero_grad()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    /// The parameter 1 after each of two steps with the gradient 2 of 2x and lr 0.1.
    fn two_steps(name: OptimizerName) -> [f64; 2] {
        let x = Tensor::from_slice(&[1.0f32]).set_requires_grad(true);
        let optimizer = Optimizer { name, lr: Some(0.1), ..Optimizer::default() };
        let mut updater = Updater::new(optimizer, vec![x.shallow_clone()]).expect("builds");
        [(); 2].map(|()| {
            (&x * 2.0).sum(tch::Kind::Float).backward();
            updater.step().expect("steps");
            updater.zero_grad().expect("lets go");
            assert!(!x.grad().defined(), "{name:?}");
            x.double_value(&[0])
        })
    }

    /// By hand, with the gradient 2 in both steps and momentum 0.9:
    /// - SGD moves by 0.1 x 2, then by 0.1 x (2 + 0.9 x 2);
    /// - Nesterov looks ahead: 0.1 x (2 + 0.9 x 2), then, the momentum being 3.8, 0.1 x (2 + 0.9 x 3.8);
    /// - AdaGrad by 0.1 x 2 / sqrt(4), then by 0.1 x 2 / sqrt(8);
    /// - RMSprop, which keeps 99 % of the mean, by 0.1 x 2 / sqrt(0.04), then by 0.1 x 2 / sqrt(0.0796);
    /// - Adam, its means corrected, by 0.1 x 2 / sqrt(4) twice; AdamW first takes 0.1 x 1 % away.
    #[test]
    fn steps_worked_by_hand() {
        for &name in OptimizerName::value_variants() {
            let expected = match name {
                OptimizerName::Sgd => [0.8, 0.42],
                OptimizerName::Nesterov => [0.62, 0.078],
                OptimizerName::AdaGrad => [0.9, 0.9 - 0.2 / 8f64.sqrt()],
                OptimizerName::RmsProp => [0.0, -0.2 / 0.0796f64.sqrt()],
                OptimizerName::Adam => [0.9, 0.8],
                OptimizerName::AdamW => [0.899, 0.899 * 0.999 - 0.1],
            };
            let found = two_steps(name);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 1e-6, "{name:?}: {found} and not {expected}");
            }
        }
    }

    #[test]
    fn what_has_no_gradient_stays() {
        let x = Tensor::from_slice(&[1.0f32]).set_requires_grad(true);
        for &name in OptimizerName::value_variants() {
            let mut updater =
                Updater::new(Optimizer { name, ..Optimizer::default() }, vec![x.shallow_clone()]).expect("builds");
            updater.step().expect("steps");
            assert_eq!(x.double_value(&[0]), 1.0, "{name:?}");
        }
    }
}
