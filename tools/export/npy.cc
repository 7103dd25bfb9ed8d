#include "tools/export/npy.h"

#include "core/base/check.h"

namespace rehearse {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPreamble = 10;  // magic, version and the header's size

const char* descr_of(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "<f4";
    case DType::kFloat64:
      return "<f8";
    case DType::kInt32:
      return "<i4";
  }
  check_failed(__FILE__, __LINE__, "unknown dtype");
}

}  // namespace

std::string write_npy(const TensorView& tensor) {
  // As Python writes a tuple.
  std::string shape = "(";
  for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
    shape += (i > 0 ? " " : "") + std::to_string(tensor.shape[i]) + (i + 1 < tensor.shape.size() ? "," : "");
  }
  shape += tensor.shape.size() == 1 ? ",)" : ")";
  std::string header =
      std::string("{'descr': '") + descr_of(tensor.dtype) + "', 'fortran_order': False, 'shape': " + shape + ", }";
  const std::size_t used = kPreamble + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  header += '\n';
  CHECK_LT(header.size(), std::size_t{65536});
  std::string out = "\x93NUMPY";
  out += '\x01';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  return out;
}

}  // namespace rehearse
