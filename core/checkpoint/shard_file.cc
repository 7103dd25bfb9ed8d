#include "core/checkpoint/shard_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/base/digest.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

const SafetensorsMetadata kModelMetadata = {{"format", "pt"}};

TensorView flat_tensor(const char* name, DType dtype, std::span<const std::byte> data) {
  TensorView tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.shape = {static_cast<std::int64_t>(data.size()) / size_of(dtype)};
  tensor.data = data;
  return tensor;
}

std::string text_of(const TensorView& tensor) {
  return "\"" + tensor.name + "\" " + name_of(tensor.dtype) + " " + shape_text(tensor.shape);
}

// Throws InputError unless `tensor` is there with just this name, dtype and shape.
void check_tensor(const SafetensorsFile& file, std::size_t index, const TensorView& wanted, const std::string& source) {
  const std::string where = source + ": tensor " + std::to_string(index) + ": ";
  if (index >= file.tensors().size()) throw InputError(where + "is missing, allowed is " + text_of(wanted));
  const TensorView& found = file.tensors()[index];
  if (found.name != wanted.name || found.dtype != wanted.dtype || found.shape != wanted.shape) {
    throw InputError(where + "found " + text_of(found) + ", allowed is " + text_of(wanted));
  }
}

void check_rest(const SafetensorsFile& file, std::size_t tensors, const SafetensorsMetadata& metadata,
                const std::string& source) {
  if (file.tensors().size() > tensors) {
    throw InputError(source + ": tensor " + text_of(file.tensors()[tensors]) + " does not belong here");
  }
  if (file.metadata() != metadata) throw InputError(source + ": has other metadata than this program writes");
}

// An exponent of ones is a NaN or an infinity. Blocks are searched without a branch, so that the compiler can take many
// elements at once; the element is looked for in the first block that has one.
template <class Bits>
std::optional<std::int64_t> first_not_finite_of(std::span<const std::byte> elements, Bits exponent) {
  constexpr std::size_t kBlock = 1024;
  const std::size_t count = elements.size() / sizeof(Bits);
  std::array<Bits, kBlock> block{};
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    std::memcpy(block.data(), elements.data() + begin * sizeof(Bits), size * sizeof(Bits));
    Bits any = 0;
    for (std::size_t i = 0; i < size; ++i) any |= static_cast<Bits>((block[i] & exponent) == exponent);
    if (any == 0) continue;
    for (std::size_t i = 0; i < size; ++i) {
      if ((block[i] & exponent) == exponent) return static_cast<std::int64_t>(begin + i);
    }
  }
  return std::nullopt;
}

// A piece of a shard that is wanted: elements from `source` of the shard's tensors, to `target` of the wanted ones.
struct Piece {
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t numel = 0;
};

std::vector<Piece> pieces(const Manifest& manifest, const ShardRecord& shard, const std::vector<FlatRange>& wanted) {
  std::vector<Piece> out;
  std::int64_t source = 0;
  for (const ShardRange& range : shard.ranges) {
    const std::int64_t begin =
        manifest.flat_offset(manifest.units[static_cast<std::size_t>(range.unit)]) + range.param_shard_offset;
    std::int64_t target = 0;
    for (const FlatRange& want : wanted) {
      const std::int64_t from = std::max(begin, want.offset);
      const std::int64_t to = std::min(begin + range.param_shard_numel, want.offset + want.numel);
      if (from < to) out.push_back(Piece{source + from - begin, target + from - want.offset, to - from});
      target += want.numel;
    }
    source += range.param_shard_numel;
  }
  return out;
}

void copy_piece(const Piece& piece, DType dtype, std::span<const std::byte> from, std::vector<std::byte>& to) {
  const auto scaled = [dtype](std::int64_t elements) { return static_cast<std::size_t>(elements * size_of(dtype)); };
  CHECK_LE(scaled(piece.source + piece.numel), from.size());
  CHECK_LE(scaled(piece.target + piece.numel), to.size());
  std::memcpy(to.data() + scaled(piece.target), from.data() + scaled(piece.source), scaled(piece.numel));
}

}  // namespace

std::vector<std::byte> write_shard_file(DType dtype, const StateView& state) {
  CHECK_EQ(state.m.size(), state.master.size());
  CHECK_EQ(state.v.size(), state.master.size());
  const std::vector<TensorView> tensors = {flat_tensor("master", dtype, state.master), flat_tensor("m", dtype, state.m),
                                           flat_tensor("v", dtype, state.v)};
  return write_safetensors(tensors);
}

Bytes size_of_shard_file(DType dtype, std::int64_t elements) {
  std::vector<TensorView> tensors;
  for (const char* name : {"master", "m", "v"}) {
    TensorView& tensor = tensors.emplace_back();
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.shape = {elements};
  }
  return Bytes(size_of_safetensors(tensors));
}

Bytes size_of_model_file(std::span<const TensorView> parameters) {
  return Bytes(size_of_safetensors(parameters, kModelMetadata));
}

std::vector<std::byte> write_model_file(std::span<const TensorView> parameters) {
  return write_safetensors(parameters, kModelMetadata);
}

void check_file(const FileRecord& record, std::span<const std::byte> bytes, const std::string& source) {
  if (static_cast<std::int64_t>(bytes.size()) != record.bytes) {
    throw InputError(source + ": has " + std::to_string(bytes.size()) + " bytes, but the checkpoint records " +
                     std::to_string(record.bytes));
  }
  const std::string found = sha256_hex(bytes);
  if (found != record.sha256) {
    throw InputError(source + ": SHA-256 is " + found + ", but the checkpoint records " + record.sha256 +
                     "; the file is damaged");
  }
}

StateView parse_shard_file(const ShardRecord& record, DType dtype, std::span<const std::byte> bytes,
                           const std::string& source) {
  check_file(record.file, bytes, source);
  const SafetensorsFile file = SafetensorsFile::parse(bytes, source);
  TensorView wanted;
  wanted.dtype = dtype;
  wanted.shape = {total_numel(record.ranges)};
  // An empty tensor's place among others that end where it does is by name.
  const std::vector<std::string> names = wanted.shape[0] == 0 ? std::vector<std::string>{"m", "master", "v"}
                                                              : std::vector<std::string>{"master", "m", "v"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    wanted.name = names[i];
    check_tensor(file, i, wanted, source);
  }
  check_rest(file, names.size(), {}, source);
  return StateView(file.find("master")->data, file.find("m")->data, file.find("v")->data);
}

void check_model_file(const Manifest& manifest, std::span<const std::byte> bytes,
                      std::optional<std::span<const std::byte>> master, const std::string& source) {
  check_file(manifest.model, bytes, source);
  const SafetensorsFile file = SafetensorsFile::parse(bytes, source);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < manifest.parameters.size(); ++i) {
    TensorView wanted;
    wanted.name = manifest.parameters[i].name;
    wanted.dtype = manifest.dtype;
    wanted.shape = manifest.parameters[i].shape;
    check_tensor(file, i, wanted, source);
    const std::span<const std::byte> data = file.tensors()[i].data;
    if (master) {
      const std::span<const std::byte> expected = master->subspan(offset, data.size());
      if (!std::equal(data.begin(), data.end(), expected.begin(), expected.end())) {
        throw InputError(source + ": tensor \"" + wanted.name + "\" differs from the master weights in the shards");
      }
    }
    offset += data.size();
  }
  check_rest(file, manifest.parameters.size(), kModelMetadata, source);
}

std::optional<std::int64_t> first_not_finite(DType dtype, std::span<const std::byte> elements) {
  switch (dtype) {
    case DType::kFloat32:
      return first_not_finite_of<std::uint32_t>(elements, 0x7f800000);
    case DType::kFloat64:
      return first_not_finite_of<std::uint64_t>(elements, 0x7ff0000000000000);
    case DType::kBFloat16:
      return first_not_finite_of<std::uint16_t>(elements, 0x7f80);
    case DType::kFloat16:
      return first_not_finite_of<std::uint16_t>(elements, 0x7c00);
    case DType::kInt32:
      return std::nullopt;
  }
  check_failed(__FILE__, __LINE__, "unknown dtype");
}

std::int64_t total_numel(const std::vector<FlatRange>& ranges) {
  std::int64_t total = 0;
  for (const FlatRange& range : ranges) total += range.numel;
  return total;
}

bool overlaps(const Manifest& manifest, const ShardRecord& shard, const std::vector<FlatRange>& wanted) {
  return !pieces(manifest, shard, wanted).empty();
}

void copy_overlap(const Manifest& manifest, const ShardRecord& shard, const StateView& from,
                  const std::vector<FlatRange>& wanted, State& state) {
  for (const Piece& piece : pieces(manifest, shard, wanted)) {
    copy_piece(piece, manifest.dtype, from.master, state.master);
    copy_piece(piece, manifest.dtype, from.m, state.m);
    copy_piece(piece, manifest.dtype, from.v, state.v);
  }
}

}  // namespace rehearse
