#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace rehearse {

// The largest header a reader accepts, in bytes; the limit of the reference implementation.
inline constexpr std::int64_t kSafetensorsHeaderLimit = 100'000'000;

// A named tensor whose little-endian elements stand in row-major order in someone else's bytes, at any alignment.
struct TensorView {
  std::string name;
  DType dtype = DType::kFloat32;
  std::vector<std::int64_t> shape;  // each at least 0; empty for a scalar
  std::span<const std::byte> data;
};

// "[64, 32]", for messages.
std::string shape_text(std::span<const std::int64_t> shape);

using SafetensorsMetadata = std::map<std::string, std::string>;

// A parsed file: 8 bytes of little-endian header length, a JSON header
// {"__metadata__": {string: string}, NAME: {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, ...}, data.
class SafetensorsFile {
 public:
  // Reads `bytes`, which the result's views point into. `source` names the file in messages. Throws InputError for a
  // truncated or oversized header, anything that is not the JSON above (duplicate or unknown keys and invalid UTF-8
  // included), dtypes other than F32, F64 and I32, negative or overflowing shapes, sizes that do not match, tensors
  // that overlap or leave gaps, data past the end of the file, and trailing bytes.
  static SafetensorsFile parse(std::span<const std::byte> bytes, const std::string& source);

  // In the order of their data in the file (empty tensors at one place by name).
  const std::vector<TensorView>& tensors() const { return tensors_; }
  // Null where the file has no such tensor.
  const TensorView* find(std::string_view name) const;
  const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  std::vector<TensorView> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  SafetensorsMetadata metadata_;
};

// The bytes of a file with these tensors in this order. The same input gives the same bytes; the header is padded with
// spaces so that the data begin at a multiple of 8. Requires distinct names, none of them "__metadata__", and data of
// the size that shape and dtype say. Throws InputError where a name or metadata text is not UTF-8.
std::vector<std::byte> write_safetensors(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata = {});
// How many bytes that would be; the tensors need no data.
std::int64_t size_of_safetensors(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata = {});

}  // namespace rehearse
