// libtorch's leaky ReLU with a slope. tch's binding leaves the slope out, so that it is always 0.01.
#include <ATen/core/Tensor.h>
#include <ATen/ops/leaky_relu.h>

#include <exception>

#include "failure.h"

extern "C" {
// A tensor of its own for the result, which the caller owns; in place, the result lies in the storage of `tensor`. On
// failure null, and in `error` the reason, cut to the room that is there.
void* trainer_leaky_relu(void* tensor, double slope, bool in_place, char* error, size_t room) {
  try {
    at::Tensor& map = *static_cast<at::Tensor*>(tensor);
    return new at::Tensor(in_place ? at::leaky_relu_(map, slope) : at::leaky_relu(map, slope));
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return nullptr;
  }
}
}
