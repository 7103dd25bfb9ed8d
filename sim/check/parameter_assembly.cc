#include "sim/check/parameter_assembly.h"

#include <algorithm>

namespace rehearse {

void ParameterAssembly::add(const TensorsView& parameters) {
  const std::int64_t element = size_of(parameters.dtype);
  layout_ = parameters.layout;
  dtype_ = parameters.dtype;
  const std::vector<ParameterInfo>& infos = layout_->tensors();
  tensors_.resize(infos.size());
  for (std::size_t t = 0; t < infos.size(); ++t) tensors_[t].resize(static_cast<std::size_t>(infos[t].numel * element));
  if (!parameters.is_sharded()) {
    for (std::size_t t = 0; t < infos.size(); ++t) {
      const std::span<const std::byte> bytes = parameters.bytes(static_cast<int>(t));
      std::copy(bytes.begin(), bytes.end(), tensors_[t].begin());
    }
    return;
  }
  for (const ConstShardPiece& part : parameters.parts) {
    std::copy_n(part.parameters, part.count * element,
                tensors_[static_cast<std::size_t>(part.tensor)].begin() + part.offset * element);
  }
}

TensorsView ParameterAssembly::view() const {
  TensorsView view;
  view.layout = layout_;
  view.dtype = dtype_;
  for (const std::vector<std::byte>& tensor : tensors_) view.tensors.push_back(tensor.data());
  return view;
}

}  // namespace rehearse
