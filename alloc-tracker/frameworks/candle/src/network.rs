//! The network: two convolutions and two linear layers, each module of it a layer of the timeline.
//!
//! candle tells nobody when a module runs. So each module is put into a [`Named`], which enters the layer; that is all
//! that a network of candle's modules needs.
use alloc_tracker::layer;
use candle_core::{DType, Device, Module, Result, Tensor, Var};
use candle_nn::{Activation, Conv2dConfig, Sequential, VarBuilder, VarMap, conv2d, func, linear, seq};
use images::{CLASSES, SIDE};

/// Maps that the convolutions make.
const MAPS: [usize; 2] = [16, 32];
/// Values between the linear layers.
const HIDDEN: usize = 64;

/// A module that is a layer of the timeline.
struct Named<M> {
    name: &'static str,
    module: M,
}

impl<M: Module> Module for Named<M> {
    fn forward(&self, xs: &Tensor) -> Result<Tensor> {
        let _layer = layer!(self.name);
        self.module.forward(xs)
    }
}

/// Makes a module in its layer, so that its parameters are that layer's from the first byte on. Their names begin with the
/// layer's.
fn named<M>(name: &'static str, builder: &VarBuilder, make: impl FnOnce(VarBuilder) -> Result<M>) -> Result<Named<M>> {
    let _layer = layer!(name);
    Ok(Named { name, module: make(builder.pp(name))? })
}

/// A parameter, with the layer that it is of.
pub struct Parameter {
    /// The name of the layer.
    pub layer: String,
    /// Its values.
    pub var: Var,
}

/// The network, and its parameters in the order of their names.
///
/// # Errors
/// When candle cannot make it.
pub fn network(seed: u64) -> Result<(Sequential, Vec<Parameter>)> {
    let variables = VarMap::new();
    let builder = VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu);
    let same = Conv2dConfig { padding: 1, ..Conv2dConfig::default() };
    let pooled = SIDE / 4;
    let network = seq()
        .add(named("conv1", &builder, |builder| conv2d(1, MAPS[0], 3, same, builder))?)
        .add(named("relu1", &builder, |_| Ok(Activation::Relu))?)
        .add(named("pool1", &builder, |_| Ok(func(|xs| xs.max_pool2d(2))))?)
        .add(named("conv2", &builder, |builder| conv2d(MAPS[0], MAPS[1], 3, same, builder))?)
        .add(named("relu2", &builder, |_| Ok(Activation::Relu))?)
        .add(named("pool2", &builder, |_| Ok(func(|xs| xs.max_pool2d(2))))?)
        .add(named("flatten", &builder, |_| Ok(func(|xs| xs.flatten_from(1))))?)
        .add(named("fc1", &builder, |builder| linear(MAPS[1] * pooled * pooled, HIDDEN, builder))?)
        .add(named("relu3", &builder, |_| Ok(Activation::Relu))?)
        .add(named("fc2", &builder, |builder| linear(HIDDEN, CLASSES, builder))?);
    let parameters = parameters(&variables);
    set_values(&parameters, seed)?;
    Ok((network, parameters))
}

/// The variables of the network with their layers: of `conv1.weight`, the layer is `conv1`.
fn parameters(variables: &VarMap) -> Vec<Parameter> {
    let variables = variables.data().lock().expect("nobody panics with the variables in hand");
    let mut named: Vec<(&String, &Var)> = variables.iter().collect();
    named.sort_by_key(|(name, _)| *name);
    let layer = |name: &str| name.rsplit_once('.').map_or("", |(layer, _)| layer).to_owned();
    named.into_iter().map(|(name, var)| Parameter { layer: layer(name), var: var.clone() }).collect()
}

/// Fills the parameters from `seed`, since candle's own random numbers on a CPU cannot be seeded: weights up to one over the
/// root of the values that flow into one, biases with 0. The values are copied into the storages that are there.
fn set_values(parameters: &[Parameter], seed: u64) -> Result<()> {
    let mut random = fastrand::Rng::with_seed(seed);
    for Parameter { var, .. } in parameters {
        let inputs = var.elem_count() / var.dims()[0];
        let bound = if var.rank() == 1 { 0.0 } else { (inputs as f32).sqrt().recip() };
        let values: Vec<f32> = (0..var.elem_count()).map(|_| bound * (2.0 * random.f32() - 1.0)).collect();
        var.set(&Tensor::from_vec(values, var.shape(), &Device::Cpu)?)?;
    }
    Ok(())
}
