#include "core/model/load.h"

#include <cstring>

#include "core/base/error.h"

namespace rehearse {
namespace {

void check_tensor(const TensorView* found, const ParameterInfo& wanted, const std::string& source) {
  const std::string where = source + ": tensor " + wanted.name;
  if (found == nullptr)
    throw InputError(where + " is missing; it must be there with shape " + shape_text(wanted.shape));
  if (found->dtype != DType::kFloat32 && found->dtype != DType::kFloat64) {
    throw InputError(where + " has dtype " + name_of(found->dtype) + "; allowed are F32 and F64");
  }
  if (found->shape != wanted.shape) {
    throw InputError(where + " has shape " + shape_text(found->shape) + "; the model needs " +
                     shape_text(wanted.shape));
  }
}

template <class From, class To>
void copy_elements(const TensorView& from, To* to) {
  const std::size_t count = from.data.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From value;
    std::memcpy(&value, from.data.data() + i * sizeof(From), sizeof value);
    to[i] = static_cast<To>(value);
  }
}

}  // namespace

template <class T>
void load_parameters(const SafetensorsFile& file, const ParameterLayout& layout, const ParameterTable<T>& table,
                     const std::string& source) {
  for (const ParameterInfo& info : layout.tensors()) check_tensor(file.find(info.name), info, source);
  for (const TensorView& tensor : file.tensors()) {
    if (layout.find(tensor.name) < 0) {
      throw InputError(source + ": tensor " + tensor.name + " is not one of the model's " +
                       std::to_string(layout.tensors().size()) + " parameters");
    }
  }
  for (std::size_t i = 0; i < layout.tensors().size(); ++i) {
    const TensorView& tensor = *file.find(layout.tensors()[i].name);
    T* const out = table[static_cast<int>(i)];
    if (out == nullptr) continue;
    if (tensor.dtype == DType::kFloat32) {
      copy_elements<float>(tensor, out);
    } else {
      copy_elements<double>(tensor, out);
    }
  }
}

template void load_parameters(const SafetensorsFile&, const ParameterLayout&, const ParameterTable<float>&,
                              const std::string&);
template void load_parameters(const SafetensorsFile&, const ParameterLayout&, const ParameterTable<double>&,
                              const std::string&);

}  // namespace rehearse
