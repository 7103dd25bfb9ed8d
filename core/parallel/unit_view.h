#pragma once

#include <cstdint>
#include <vector>

#include "core/base/buffer.h"
#include "core/parallel/program_error.h"

namespace rehearse {

// A unit as collectives see it.
inline BufferView view_of(std::vector<Buffer>& units, std::size_t unit) {
  BufferView view(units[unit]);
  view.unit = static_cast<std::int32_t>(unit);
  return view;
}

// What a wrong program passes instead: half of the elements, or the same bytes as another type.
inline BufferView with_error(BufferView view, ProgramError error) {
  if (error == ProgramError::kOtherSize) view.count /= 2;
  if (error == ProgramError::kOtherType) {
    const bool wide = view.dtype == DType::kFloat64;
    view.dtype = wide ? DType::kFloat32 : DType::kFloat64;
    view.count = wide ? view.count * 2 : view.count / 2;
  }
  return view;
}

}  // namespace rehearse
