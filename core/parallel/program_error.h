#pragma once

#include <cstdint>

namespace rehearse {

// A mistake of a rank's program in its next collective, as a fault plan asks for it: the call is left out, made with
// half the elements, with another element type, or after the call that should follow it.
enum class ProgramError : std::uint8_t { kNone, kSkip, kOtherSize, kOtherType, kOtherOrder };

}  // namespace rehearse
