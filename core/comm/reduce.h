#pragma once

#include "core/base/buffer.h"
#include "core/runtime/payload.h"

namespace rehearse {

// What a collective does with the bytes of a message. All require a payload of the view's size, and do nothing else
// where the view has no storage (cost-only mode).
//
// Sums are element by element, received + own in the view's dtype (float or double), so no vector width can change
// their bits.

// own[i] = received[i] + own[i].
void reduce_add(BufferView own, const Payload& received);
// own[i] = own[i] + received[i], or the other way round. Where two ranks add the same two buffers, each with the other
// operand as its own, they get the same bits, those of NaNs too, if both name the same one as first.
enum class First : std::uint8_t { kOwn, kReceived };
void reduce_add_in_order(BufferView own, const Payload& received, First first);
// received[i] + own[i] as a message to pass on; one pass over memory less than adding in place and copying that.
Payload reduced(PayloadPool& pool, const Payload& received, BufferView own);
// to[i] = received[i], any dtype.
void copy_elements(BufferView to, const Payload& received);
// What a rank has for itself: to[i] = from[i]. Requires equal counts and dtypes; the two may be the same memory.
void copy_view(BufferView to, BufferView from);

}  // namespace rehearse
