// What a step that computes some stages twice needs of libtorch, and tch does not have: a backward pass that starts from a
// gradient in the middle of a network, and the state of the random generator.
#include <ATen/Context.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "failure.h"

namespace {

using torch::autograd::Edge;
using torch::autograd::variable_list;

// Lets the caller's list of gradients go as soon as the first node has them: the engine keeps the list to the end of the
// pass, and the gradient of a map is as large as the map.
struct LetGo final : torch::autograd::FunctionPreHook {
  explicit LetGo(variable_list* gradients) : gradients_(gradients) {}

  variable_list operator()(const variable_list& reached) override {
    gradients_->clear();
    return reached;
  }

 private:
  variable_list* gradients_;
};

const at::Generator& generator_for(const void* tensor) {
  return at::globalContext().defaultGenerator(static_cast<const at::Tensor*>(tensor)->device());
}

}  // namespace

extern "C" {

// Where the backward pass from a tensor starts, which the caller frees. It holds the graph and not the tensor's elements.
// On failure null, and in `error` the reason, cut to the room that is there.
void* trainer_root(const void* tensor, char* error, size_t room) {
  try {
    const at::Tensor& map = *static_cast<const at::Tensor*>(tensor);
    TORCH_CHECK(map.requires_grad(), "there is no way back from this tensor");
    return new Edge(torch::autograd::impl::gradient_edge(map));
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return nullptr;
  }
}

void trainer_root_free(void* root) { delete static_cast<Edge*>(root); }

// Runs the backward pass from `root`, whose tensor has this gradient, and lets the graph go. The gradient is moved out of
// its tensor. Whether it succeeded.
bool trainer_root_backward(void* root, void* gradient, char* error, size_t room) {
  try {
    const Edge& edge = *static_cast<Edge*>(root);
    variable_list gradients;
    gradients.push_back(std::move(*static_cast<at::Tensor*>(gradient)));
    edge.function->add_pre_hook(std::make_unique<LetGo>(&gradients));
    torch::autograd::Engine::get_default_engine().execute(
        {edge}, gradients, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/true);
    return true;
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return false;
  }
}

// The state of the generator from which operators on this tensor draw, as a tensor that the caller owns.
void* trainer_generator_state(const void* tensor, char* error, size_t room) {
  try {
    at::Generator generator = generator_for(tensor);
    std::lock_guard<std::mutex> lock(generator.mutex());
    return new at::Tensor(generator.get_state());
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return nullptr;
  }
}

// Sets it. Whether it succeeded.
bool trainer_set_generator_state(const void* tensor, const void* state, char* error, size_t room) {
  try {
    at::Generator generator = generator_for(tensor);
    std::lock_guard<std::mutex> lock(generator.mutex());
    generator.set_state(*static_cast<const at::Tensor*>(state));
    return true;
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return false;
  }
}

}  // extern "C"
