// The part of the shim that tells of devices' blocks, as hooks.cpp sees it.
#pragma once

namespace alloc_torch {

// Makes the calling thread tell of the blocks of devices, if they are watched and it does not yet.
void watch_this_thread();

}  // namespace alloc_torch
