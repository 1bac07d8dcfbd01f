"""Trains two layers in TensorFlow for three steps, and prints the losses."""

import numpy
import tensorflow as tf

tf.keras.utils.set_random_seed(0)
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((2048,)),
        tf.keras.layers.Dense(2048, activation="relu", name="wide"),
        tf.keras.layers.Dense(10, name="head"),
    ]
)
model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
images = numpy.ones((96, 2048), numpy.float32)
labels = numpy.arange(96) % 10
history = model.fit(images, labels, batch_size=32, epochs=1, shuffle=False, verbose=0)
print([round(loss, 4) for loss in history.history["loss"]], model.count_params())
