// Divides gradients by the scale of the loss, and looks whether all of them are finite: the function of libtorch's that
// `torch.amp.GradScaler` calls. tch does not have it.
#include <ATen/ATen.h>

#include <exception>
#include <vector>

#include "failure.h"

extern "C" {
// `gradients` are multiplied by `factor`, in place; `found` becomes 1 where one of them is infinite or no number. False, and in
// `error` the reason, cut to the room that is there, when libtorch refuses.
bool trainer_unscale(
    const at::Tensor* const* gradients,
    size_t count,
    at::Tensor* found,
    const at::Tensor* factor,
    char* error,
    size_t room) {
  try {
    std::vector<at::Tensor> all;
    all.reserve(count);
    for (size_t index = 0; index < count; index++) {
      all.push_back(*gradients[index]);
    }
    at::_amp_foreach_non_finite_check_and_unscale_(all, *found, *factor);
    return true;
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return false;
  }
}
}
