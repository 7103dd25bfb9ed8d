#pragma once

#include <string>

#include "core/formats/safetensors.h"

namespace rehearse {

// A tensor as a NumPy .npy file, version 1.0: row-major, little-endian, data from a multiple of 64 bytes on.
// Format: NumPy Enhancement Proposal 1.
std::string write_npy(const TensorView& tensor);

}  // namespace rehearse
