// How the shim tells why libtorch failed.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>

// Writes what an exception says to `error`, cut to the room that is there.
inline void tell(const std::exception& problem, char* error, size_t room) {
  std::strncpy(error, problem.what(), room - 1);
  error[room - 1] = '\0';
}
