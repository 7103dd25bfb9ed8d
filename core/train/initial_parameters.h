#pragma once

#include "core/model/layout.h"
#include "core/train/config.h"

namespace rehearse {

// The parameters that a job starts from: those of its file, or drawn from its seed. `parameters` is a table of the
// layout. Throws InputError where the file does not fit the model.
template <class T>
void make_initial_parameters(const TrainConfig& config, const ParameterLayout& layout,
                             const ParameterTable<T>& parameters);

}  // namespace rehearse
