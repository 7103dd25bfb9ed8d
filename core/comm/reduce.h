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
// received[i] + own[i] as a message to pass on; one pass over memory less than adding in place and copying that.
Payload reduced(PayloadPool& pool, const Payload& received, BufferView own);
// to[i] = received[i], any dtype.
void copy_elements(BufferView to, const Payload& received);

}  // namespace rehearse
