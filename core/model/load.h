#pragma once

#include <string>

#include "core/formats/safetensors.h"
#include "core/model/layout.h"

namespace rehearse {

// Copies a file's tensors into the table, but for those that are null there. Throws InputError, and leaves the table as
// it was, unless the file has exactly the layout's tensors with their shapes, each F32 or F64 (converted to T, so F64
// into float rounds). `source` names the file in messages.
template <class T>
void load_parameters(const SafetensorsFile& file, const ParameterLayout& layout, const ParameterTable<T>& table,
                     const std::string& source);

}  // namespace rehearse
