//! The optimizers by name, what each is told, and how much each keeps.

/// What updates the parameters. All but what [`Optimizer`] has is as PyTorch sets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum OptimizerName {
    /// Stochastic gradient descent; with momentum it keeps one state a parameter.
    #[default]
    Sgd,
    /// Stochastic gradient descent with Nesterov's momentum: one state a parameter.
    Nesterov,
    /// AdaGrad: the sum of the gradients' squares, one state a parameter.
    #[value(name = "adagrad")]
    AdaGrad,
    /// RMSprop without momentum: the mean of the gradients' squares, one state a parameter.
    #[value(name = "rmsprop")]
    RmsProp,
    /// Adam: the means of the gradients and of their squares, two states a parameter.
    Adam,
    /// Adam with decoupled weight decay: the same two states.
    #[value(name = "adamw")]
    AdamW,
}

impl OptimizerName {
    /// The name on the command line and in the timeline.
    pub fn as_str(self) -> &'static str {
        match self {
            OptimizerName::Sgd => "sgd",
            OptimizerName::Nesterov => "nesterov",
            OptimizerName::AdaGrad => "adagrad",
            OptimizerName::RmsProp => "rmsprop",
            OptimizerName::Adam => "adam",
            OptimizerName::AdamW => "adamw",
        }
    }
}

/// Settings of the optimizer.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct Optimizer {
    /// What updates the parameters.
    #[arg(id = "optimizer", long = "optimizer", value_enum, default_value_t = OptimizerName::Sgd)]
    pub name: OptimizerName,
    /// Learning rate [default: 0.01; of adam and adamw 0.001].
    #[arg(long, value_name = "X")]
    pub lr: Option<f64>,
    /// Momentum of sgd and nesterov; with 0, sgd keeps no state [default: 0.9].
    #[arg(long, value_name = "X")]
    pub momentum: Option<f64>,
    /// How much of the gradients' mean Adam takes over from step to step, where it is not 0.9.
    #[arg(skip)]
    pub beta1: Option<f64>,
}

impl Optimizer {
    /// The learning rate: the one that was typed, or the optimizer's usual one.
    pub fn lr(self) -> f64 {
        self.lr.unwrap_or(match self.name {
            OptimizerName::Adam | OptimizerName::AdamW => 0.001,
            _ => 0.01,
        })
    }

    /// The momentum; only SGD has one, Nesterov's included.
    pub fn momentum(self) -> Option<f64> {
        let has_one = matches!(self.name, OptimizerName::Sgd | OptimizerName::Nesterov);
        has_one.then(|| self.momentum.unwrap_or(0.9))
    }

    /// How much of the gradients' mean it takes over from step to step; only Adam and AdamW have one.
    pub fn beta1(self) -> Option<f64> {
        matches!(self.name, OptimizerName::Adam | OptimizerName::AdamW).then(|| self.beta1.unwrap_or(0.9))
    }

    /// How many values it keeps from step to step for each trainable value.
    pub fn states(self) -> u64 {
        match self.name {
            OptimizerName::Sgd => u64::from(self.momentum().is_some_and(|momentum| momentum > 0.0)),
            OptimizerName::Nesterov | OptimizerName::AdaGrad | OptimizerName::RmsProp => 1,
            OptimizerName::Adam | OptimizerName::AdamW => 2,
        }
    }

    /// How many temporaries of a parameter's size there are at once while that parameter is updated. libtorch's loops are
    /// in `torch/csrc/api/src/optim`: RMSprop and AdaGrad make the root of their state, Adam divides it besides, and
    /// Nesterov's momentum looks ahead in a tensor of its own.
    pub fn temporaries(self) -> u64 {
        match self.name {
            OptimizerName::Sgd => 0,
            OptimizerName::Nesterov | OptimizerName::AdaGrad | OptimizerName::RmsProp => 1,
            OptimizerName::Adam | OptimizerName::AdamW => 2,
        }
    }
}

impl std::fmt::Display for Optimizer {
    /// `adam`, `sgd with momentum 0.9`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name.as_str())?;
        self.momentum().map_or(Ok(()), |momentum| write!(f, " with momentum {momentum}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_each_keeps_for_a_parameter() {
        let states = |name, momentum| Optimizer { name, momentum, ..Optimizer::default() }.states();
        assert_eq!((states(OptimizerName::Sgd, None), states(OptimizerName::Sgd, Some(0.0))), (1, 0));
        assert_eq!((states(OptimizerName::Adam, None), states(OptimizerName::AdamW, None)), (2, 2));
        assert_eq!((states(OptimizerName::RmsProp, None), states(OptimizerName::AdaGrad, None)), (1, 1));
        assert_eq!(states(OptimizerName::Nesterov, None), 1);
    }

    #[test]
    fn what_is_not_typed_is_usual() {
        let adam = Optimizer { name: OptimizerName::Adam, ..Optimizer::default() };
        assert_eq!((adam.lr(), adam.momentum(), adam.to_string()), (0.001, None, "adam".to_owned()));
        assert_eq!(Optimizer::default().to_string(), "sgd with momentum 0.9");
        let nesterov = Optimizer { name: OptimizerName::Nesterov, ..Optimizer::default() };
        assert_eq!(nesterov.to_string(), "nesterov with momentum 0.9");
    }
}
