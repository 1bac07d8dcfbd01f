//! The networks: one file for each family, each a list of stages.
pub(super) mod alexnet;
pub(super) mod densenet;
pub(super) mod inception_v1;
pub(super) mod lenet;
pub(super) mod mobilenet_v1;
pub(super) mod mobilenet_v2;
pub(super) mod resnet;
pub(super) mod squeezenet;
pub(super) mod vgg;
pub(super) mod xception;

pub(super) mod bert;
pub(super) mod char_cnn;
pub(super) mod lstm;
pub(super) mod seq2seq;
