#pragma once

#include "core/base/random.h"
#include "core/model/layout.h"

namespace rehearse {

// Fills the table with a fresh model, but for null pointers in it: embeddings N(0, 1); linear weights and biases
// uniform in +-1/sqrt(fan_in); LayerNorm weights 1 and biases 0. Each tensor draws from root.fork("init").fork(its
// name), element by element, so that it does not depend on the others. Every value is rounded to float first: float and
// double models start from the same numbers.
template <class T>
void initialise(const ParameterLayout& layout, const RandomStream& root, const ParameterTable<T>& table);

}  // namespace rehearse
