//! What can be typed of the optimizer where one network is trained: what is left out is what that network's authors use.
use clap::Args;

use crate::model::{ModelName, Objective};
use crate::optimizer::{Optimizer, OptimizerName};

/// The optimizer as it is typed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct OptimizerArgs {
    /// What updates the parameters; dcgan's networks have one each, of these settings [default: sgd; of dcgan adam, of dqn
    /// rmsprop].
    #[arg(long, value_enum)]
    pub optimizer: Option<OptimizerName>,
    /// Learning rate [default: 0.01; of adam and adamw 0.001; of dcgan's and dqn's own optimizers 0.0002 and 0.00025].
    #[arg(long, value_name = "X")]
    pub lr: Option<f64>,
    /// Momentum of sgd and nesterov; with 0, sgd keeps no state [default: 0.9].
    #[arg(long, value_name = "X")]
    pub momentum: Option<f64>,
    /// How much of the gradients' mean adam and adamw take over from step to step [default: 0.9; of dcgan's own adam 0.5].
    #[arg(long, value_name = "X")]
    pub beta1: Option<f64>,
}

impl OptimizerArgs {
    /// The optimizer for `model`.
    pub fn of(self, model: ModelName) -> Optimizer {
        let typed = |name| Optimizer { name, lr: self.lr, momentum: self.momentum, beta1: self.beta1 };
        match (self.optimizer, model.objective()) {
            (Some(name), _) => typed(name),
            (None, Objective::Classes) => typed(OptimizerName::Sgd),
            (None, Objective::Adversarial) => Optimizer {
                lr: self.lr.or(Some(0.0002)),
                beta1: self.beta1.or(Some(0.5)),
                ..typed(OptimizerName::Adam)
            },
            (None, Objective::QLearning) => {
                Optimizer { lr: self.lr.or(Some(0.00025)), ..typed(OptimizerName::RmsProp) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Radford et al. 2016: Adam with 0.0002 and a beta1 of 0.5. Mnih et al. 2015: RMSprop with 0.00025.
    #[test]
    fn what_is_not_typed_is_what_the_authors_use() {
        let of = |args: OptimizerArgs, model| {
            let optimizer = args.of(model);
            (optimizer.name, optimizer.lr(), optimizer.beta1())
        };
        let nothing = OptimizerArgs::default();
        assert_eq!(of(nothing, ModelName::ResNet18), (OptimizerName::Sgd, 0.01, None));
        assert_eq!(of(nothing, ModelName::Dcgan), (OptimizerName::Adam, 0.0002, Some(0.5)));
        assert_eq!(of(nothing, ModelName::Dqn), (OptimizerName::RmsProp, 0.00025, None));
        let adam = OptimizerArgs { optimizer: Some(OptimizerName::Adam), ..nothing };
        assert_eq!(
            of(adam, ModelName::Dcgan),
            (OptimizerName::Adam, 0.001, Some(0.9)),
            "who names one gets it as it is"
        );
        let slower = OptimizerArgs { lr: Some(0.1), ..nothing };
        assert_eq!(of(slower, ModelName::Dcgan), (OptimizerName::Adam, 0.1, Some(0.5)));
    }
}
