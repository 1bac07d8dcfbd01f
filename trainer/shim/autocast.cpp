// Autocast: from `begin` to `end`, convolutions, linear layers and matrix products on this thread compute in 16 bits. tch's own
// functions reach the autocast of CUDA alone, and none of its types.
#include <ATen/autocast_mode.h>

#include <exception>

#include "failure.h"

extern "C" {
// What was set before; `end` sets it again.
struct trainer_autocast_state {
  bool enabled;
  bool caches;
  int8_t type;
};

// True, and `before` filled, or false, and in `error` the reason, cut to the room that is there. Casts of parameters are
// kept until the outermost `end`, so that each is made once.
bool trainer_autocast_begin(
    bool on_gpu,
    bool in_bf16,
    trainer_autocast_state* before,
    char* error,
    size_t room) {
  try {
    const auto device = on_gpu ? at::kCUDA : at::kCPU;
    before->enabled = at::autocast::is_autocast_enabled(device);
    before->caches = at::autocast::is_autocast_cache_enabled();
    before->type = static_cast<int8_t>(at::autocast::get_autocast_dtype(device));
    at::autocast::set_autocast_dtype(device, in_bf16 ? at::kBFloat16 : at::kHalf);
    at::autocast::set_autocast_cache_enabled(true);
    at::autocast::set_autocast_enabled(device, true);
    at::autocast::increment_nesting();
    return true;
  } catch (const std::exception& problem) {
    tell(problem, error, room);
    return false;
  }
}

// The order of `torch.autocast.__exit__`: the casts of parameters go with the outermost.
void trainer_autocast_end(bool on_gpu, const trainer_autocast_state* before) {
  const auto device = on_gpu ? at::kCUDA : at::kCPU;
  if (at::autocast::decrement_nesting() == 0) {
    at::autocast::clear_cache();
  }
  at::autocast::set_autocast_enabled(device, before->enabled);
  at::autocast::set_autocast_dtype(device, static_cast<at::ScalarType>(before->type));
  at::autocast::set_autocast_cache_enabled(before->caches);
}
}
