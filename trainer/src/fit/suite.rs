//! The seed document 001's Table II: ten networks that a device of 8 GB trained and six that it did not, beside what their
//! plans say. A network that the trainer does not know yet stands there without an answer.
use anyhow::Result;
use clap::ValueEnum;
use serde::Serialize;

use super::case::Case;
use super::forecast::Forecast;
use super::reason::Reason;
use crate::figures::{mib, table};
use crate::model::ModelName;

/// The device's memory, which its processor and its GPU share: eight GB.
const DEVICE: u64 = 8 << 30;
/// The document's batches go from 1 to this one.
const BATCH: u64 = 64;
/// Name in the document, name here, and whether it trained.
const TABLE: [(&str, &str, bool); 16] = [
    ("DenseNet40_12", "densenet40_12", true),
    ("ResNet50", "resnet50", true),
    ("SqueezeNet", "squeezenet1_1", true),
    ("VGG16", "vgg16", true),
    ("XceptionNet", "xception", true),
    ("InceptionV1", "inception_v1", true),
    ("Char-CNN", "char_cnn", true),
    ("DCGAN", "dcgan", true),
    ("Deep RL", "dqn", true),
    ("AlexNet", "alexnet", true),
    ("VGG19", "vgg19", false),
    ("BERT", "bert_base", false),
    ("ResNet101", "resnet101", false),
    ("ResNet152", "resnet152", false),
    // There 7 M parameters: without the bottlenecks of the network here, which has 0.8 M.
    ("DenseNet100", "densenet_bc100_12", false),
    // There 348 M parameters.
    ("seq2seq", "seq2seq", false),
];

/// All of the table.
#[derive(Debug, Serialize)]
pub(super) struct Suite(Vec<Entry>);

#[derive(Debug, Serialize)]
struct Entry {
    name: &'static str,
    model: &'static str,
    trained: bool,
    /// `None` of a network that the trainer does not know.
    plan: Option<Plan>,
}

/// What a network needs, the process included.
#[derive(Debug, Serialize)]
struct Plan {
    size: u64,
    /// In 8 GB.
    largest_batch: u64,
    /// Why batch 64 does not fit.
    reason: Option<Reason>,
    /// What a batch consists of: `image`, `text`.
    #[serde(skip)]
    input: &'static str,
    /// At batch 64.
    bytes: u64,
    /// The category with the most bytes at the peak of batch 64, and the layer that has most of that.
    category: &'static str,
    category_bytes: u64,
    layer: String,
    layer_bytes: u64,
}

impl Suite {
    /// `of` says what each network is asked to do, and what is known of its runs.
    pub(super) fn new(of: impl Fn(ModelName) -> (Case, Forecast)) -> Result<Suite> {
        let of_model = |model| {
            let (case, forecast) = of(model);
            Plan::new(&case, &forecast)
        };
        let entries = TABLE.into_iter().map(|(name, model, trained)| {
            let known = ModelName::from_str(model, false).ok();
            let plan = known.map(of_model).transpose()?;
            Ok(Entry { name, model, trained, plan })
        });
        Ok(Suite(entries.collect::<Result<Vec<Entry>>>()?))
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        let cells = self.0.iter().map(|entry| {
            let there = if entry.trained { "trains" } else { "does not" };
            let mut cells = vec![entry.name.to_owned(), there.to_owned()];
            match &entry.plan {
                None => cells.extend(["-", "-", "-", "-", "not in the zoo yet"].map(str::to_owned)),
                Some(plan) => cells.extend([
                    plan.size.to_string(),
                    plan.largest_batch.to_string(),
                    mib(plan.bytes),
                    if plan.reason.is_some() { "does not fit" } else { "fits" }.to_owned(),
                    plan.why(),
                ]),
            }
            cells
        });
        let heads = [
            "seed 001",
            "there",
            ">size",
            ">largest batch",
            ">batch 64 needs",
            "in 8 GB",
            "what makes batch 64 fail, or what it has most of",
        ];
        format!(
            "what trained in 8 GB, and what did not (seed 001, Table II, batches of 1 to 64)\n{}\nthere: TensorFlow 1.13 on \
             a TX2, whose GPU shares the memory with the system; here: the plan of this trainer for the sizes of the \
             references, so answers may differ. DenseNet100 has 7 M parameters there and 0.8 M here (with bottlenecks), \
             seq2seq 348 M there",
            table(&heads, cells)
        )
    }
}

impl Plan {
    fn new(case: &Case, forecast: &Forecast) -> Result<Plan> {
        let step = case.step(BATCH)?;
        let (category, category_bytes) = step
            .by_category()
            .into_iter()
            .max_by_key(|&(_, bytes)| bytes)
            .unwrap_or((alloc_timeline::Category::Other, 0));
        let (layer, layer_bytes) = step.largest_layer(category);
        Ok(Plan {
            size: case.size,
            largest_batch: case.largest(DEVICE, forecast)?,
            reason: Reason::of(case, BATCH, DEVICE, forecast)?,
            input: if case.model.reads_text() { "text" } else { "image" },
            bytes: forecast.needed(BATCH, &step).bytes(),
            category: category.name(),
            category_bytes,
            layer,
            layer_bytes,
        })
    }

    /// What makes batch 64 fail; where it fits, what it has most of.
    fn why(&self) -> String {
        let Plan { category, category_bytes, layer, layer_bytes, .. } = self;
        match &self.reason {
            Some(reason) => reason.text(self.input),
            None => format!("{category} {}, the most in {layer} ({})", mib(*category_bytes), mib(*layer_bytes)),
        }
    }
}
