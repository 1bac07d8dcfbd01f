// A training loop in C++, with scopes that end with their blocks.
//
//     alloc-tracker header > alloc_tracker.h
//     c++ -o train train.cpp
//     alloc-tracker record -- ./train
//
// It can record itself as well, where it is linked with the library: ./train own.timeline.json
//
// Two layers of 1 and 2 MiB of parameters. Each keeps as many bytes of activations for the backward pass, gets as many of
// gradients there, and the optimizer as many of momentum, from the first step on.
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

#include "alloc_tracker.h"

namespace {

constexpr size_t MIB = 1 << 20;

struct Block {
    std::unique_ptr<float[]> values;
    Block(size_t bytes, alloc_tracker_category category) : values(new float[bytes / sizeof(float)]()) {
        alloc_tracker_label(values.get(), category, nullptr);
    }
};

struct Layer {
    const char *name;
    size_t bytes;
    std::vector<Block> parameter, activation, gradient, momentum;
};

void step(std::vector<Layer> &layers) {
    alloc_tracker::Step step;
    {
        alloc_tracker::Phase phase("forward");
        for (Layer &layer : layers) {
            alloc_tracker::Layer scope(layer.name);
            layer.activation.emplace_back(layer.bytes, ALLOC_TRACKER_CATEGORY_ACTIVATION);
        }
    }
    {
        alloc_tracker::Phase phase("backward");
        for (size_t i = layers.size(); i-- > 0;) {
            alloc_tracker::Layer scope(layers[i].name);
            layers[i].gradient.emplace_back(layers[i].bytes, ALLOC_TRACKER_CATEGORY_GRADIENT);
            layers[i].activation.clear();
        }
    }
    alloc_tracker::Phase phase("optimizer");
    for (Layer &layer : layers) {
        alloc_tracker::Layer scope(layer.name);
        if (layer.momentum.empty()) layer.momentum.emplace_back(layer.bytes, ALLOC_TRACKER_CATEGORY_OPTIMIZER_STATE);
        layer.gradient.clear();
    }
}

void fail() {
    alloc_tracker::Phase phase("failing");
    alloc_tracker::Layer layer("none");
    throw std::runtime_error("on purpose");
}

} // namespace

int main(int argc, char **argv) {
    bool is_own = argc > 1 && alloc_tracker_start(argv[1]) == 0;
    std::vector<Layer> layers(2);
    layers[0].name = "fc1", layers[0].bytes = MIB;
    layers[1].name = "fc2", layers[1].bytes = 2 * MIB;
    {
        alloc_tracker::Phase phase("init");
        for (Layer &layer : layers) {
            alloc_tracker::Layer scope(layer.name);
            layer.parameter.emplace_back(layer.bytes, ALLOC_TRACKER_CATEGORY_PARAMETER);
        }
    }
    for (int i = 0; i < 3; i++) step(layers);
    try {
        fail();
    } catch (const std::runtime_error &error) {
        // Its scopes have been left.
        alloc_tracker_snapshot(error.what());
    }
    std::printf("recorded: %d\n", static_cast<int>(alloc_tracker_is_recording()));
    if (is_own && alloc_tracker_finish() != 0) return 1;
    return 0;
}
