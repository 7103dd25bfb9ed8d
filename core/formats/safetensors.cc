#include "core/formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/base/error.h"

namespace rehearse {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they stand in memory");

using Json = nlohmann::json;  // finds a key in logarithmic time: files name thousands of tensors

constexpr const char* kMetadataKey = "__metadata__";
constexpr std::int64_t kLengthBytes = 8;
constexpr std::size_t kHeaderDepth = 2;  // file -> tensor or metadata; deeper objects mean nothing

[[noreturn]] void refuse(const std::string& source, const std::string& what) {
  throw InputError(source + ": not a valid safetensors file: " + what);
}

// At most 80 bytes of a JSON value, for messages.
std::string excerpt(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 77) + "...";
  return text;
}

// The library keeps the last of two equal keys in silence, hence the sets.
Json parse_header(std::string_view text, const std::string& source) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      if (keys.size() == kHeaderDepth) refuse(source, "header objects are nested more than 2 deep");
      keys.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) refuse(source, "header key " + excerpt(parsed) + " appears twice");
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    refuse(source, std::string("the header is not JSON in UTF-8: ") + error.what());
  }
}

std::optional<DType> dtype_named(const std::string& name) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt32}) {
    if (name == name_of(dtype)) return dtype;
  }
  return std::nullopt;
}

// Bytes of a tensor; nothing where they do not fit 63 bits.
std::optional<std::int64_t> byte_size(DType dtype, std::span<const std::int64_t> shape) {
  std::int64_t size = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) return std::nullopt;
  }
  return size;
}

// Non-negative integers that fit 63 bits.
std::vector<std::int64_t> sizes_from(const Json& list, const std::string& field, const std::string& source) {
  if (!list.is_array()) refuse(source, field + " must be a list of integers, found " + excerpt(list));
  std::vector<std::int64_t> sizes;
  for (const Json& value : list) {
    // Integers that do not fit 64 bits arrive as floating point.
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      refuse(source, field + " must hold integers from 0 to 2^63 - 1, found " + excerpt(value));
    }
    sizes.push_back(value.get<std::int64_t>());
  }
  return sizes;
}

SafetensorsMetadata metadata_from(const Json& object, const std::string& source) {
  if (!object.is_object()) refuse(source, "__metadata__ must be an object of strings, found " + excerpt(object));
  SafetensorsMetadata metadata;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      refuse(source, "__metadata__ key " + excerpt(key) + " must hold a string, found " + excerpt(value));
    }
    metadata.emplace(key, value.get<std::string>());
  }
  return metadata;
}

struct Entry {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  TensorView tensor;
};

Entry entry_from(const std::string& name, const Json& object, std::span<const std::byte> data,
                 const std::string& source) {
  const std::string where = "tensor " + excerpt(name);
  if (!object.is_object()) refuse(source, where + " must be an object, found " + excerpt(object));
  for (const auto& [key, value] : object.items()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      refuse(source, where + " has unknown key " + excerpt(key) + "; allowed are dtype, shape and data_offsets");
    }
  }
  for (const char* key : {"dtype", "shape", "data_offsets"}) {
    if (!object.contains(key)) refuse(source, where + " has no " + key);
  }
  const Json& dtype_name = object["dtype"];
  const auto dtype = dtype_name.is_string() ? dtype_named(dtype_name.get<std::string>()) : std::nullopt;
  if (!dtype) refuse(source, where + " has dtype " + excerpt(dtype_name) + "; allowed are F32, F64 and I32");

  Entry entry;
  entry.tensor.name = name;
  entry.tensor.dtype = *dtype;
  entry.tensor.shape = sizes_from(object["shape"], where + ": shape", source);
  const std::vector<std::int64_t> offsets = sizes_from(object["data_offsets"], where + ": data_offsets", source);
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    refuse(source, where + ": data_offsets must be [begin, end] with begin <= end, found " + shape_text(offsets));
  }
  entry.begin = offsets[0];
  entry.end = offsets[1];
  const auto size = byte_size(*dtype, entry.tensor.shape);
  if (!size) refuse(source, where + ": shape " + shape_text(entry.tensor.shape) + " does not fit 63-bit sizes");
  if (*size != entry.end - entry.begin) {
    refuse(source, where + ": data_offsets " + shape_text(offsets) + " hold " +
                       std::to_string(offsets[1] - offsets[0]) + " bytes, but shape " + shape_text(entry.tensor.shape) +
                       " of " + name_of(*dtype) + " needs " + std::to_string(*size));
  }
  if (entry.end > static_cast<std::int64_t>(data.size())) {
    refuse(source, where + " ends at data byte " + std::to_string(entry.end) + ", but the file has " +
                       std::to_string(data.size()) + " bytes of data");
  }
  entry.tensor.data = data.subspan(static_cast<std::size_t>(entry.begin), static_cast<std::size_t>(*size));
  return entry;
}

// Every data byte belongs to one tensor.
void check_no_overlap_no_gap(const std::vector<Entry>& entries, std::int64_t data_size, const std::string& source) {
  std::int64_t covered = 0;
  for (const Entry& entry : entries) {
    const std::string where = "tensor " + excerpt(entry.tensor.name) + " begins at data byte " +
                              std::to_string(entry.begin) + ", but the tensors before it end at " +
                              std::to_string(covered);
    if (entry.begin < covered) refuse(source, "tensors overlap: " + where);
    if (entry.begin > covered) refuse(source, "a gap between tensors: " + where);
    covered = entry.end;
  }
  if (covered != data_size) {
    refuse(source, std::to_string(data_size - covered) + " trailing bytes: the tensors end at data byte " +
                       std::to_string(covered) + ", but the file has " + std::to_string(data_size) + " bytes of data");
  }
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, const std::string& source) {
  if (bytes.size() < static_cast<std::size_t>(kLengthBytes)) {
    refuse(source, "truncated: " + std::to_string(bytes.size()) + " bytes, but the header length alone takes 8");
  }
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof header_size);
  if (header_size > static_cast<std::uint64_t>(kSafetensorsHeaderLimit)) {
    refuse(source, "header length " + std::to_string(header_size) + " is over the limit of " +
                       std::to_string(kSafetensorsHeaderLimit));
  }
  const std::span<const std::byte> rest = bytes.subspan(static_cast<std::size_t>(kLengthBytes));
  if (header_size > rest.size()) {
    refuse(source, "truncated: the header takes " + std::to_string(header_size) + " bytes, but only " +
                       std::to_string(rest.size()) + " follow");
  }
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), header_size);
  if (text.empty() || text.front() != '{') refuse(source, "the header must begin with '{'");
  const std::span<const std::byte> data = rest.subspan(header_size);

  const Json header = parse_header(text, source);
  SafetensorsFile file;
  std::vector<Entry> entries;
  for (const auto& [name, object] : header.items()) {
    if (name == kMetadataKey) {
      file.metadata_ = metadata_from(object, source);
    } else {
      entries.push_back(entry_from(name, object, data, source));
    }
  }
  // Header items come sorted by name, so this order is total.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_no_overlap_no_gap(entries, static_cast<std::int64_t>(data.size()), source);
  for (Entry& entry : entries) {
    file.by_name_.emplace(entry.tensor.name, file.tensors_.size());
    file.tensors_.push_back(std::move(entry.tensor));
  }
  return file;
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

namespace {

// The padded header, and how many bytes of data follow it.
std::pair<std::string, std::int64_t> header_of(std::span<const TensorView> tensors,
                                               const SafetensorsMetadata& metadata) {
  // Written by hand where the order of keys matters: the library would sort them.
  std::string header = "{";
  const auto append_key = [&header](const Json& key) { header += (header.size() == 1 ? "" : ",") + key.dump() + ":"; };
  std::int64_t data_size = 0;
  try {
    if (!metadata.empty()) {
      append_key(kMetadataKey);
      header += Json(metadata).dump();
    }
    std::set<std::string_view> names;
    for (const TensorView& tensor : tensors) {
      CHECK(tensor.name != kMetadataKey);
      CHECK(names.insert(tensor.name).second);
      const auto size = byte_size(tensor.dtype, tensor.shape);
      CHECK(size.has_value());
      append_key(tensor.name);
      header += std::string("{\"dtype\":\"") + name_of(tensor.dtype) + "\",\"shape\":" + Json(tensor.shape).dump() +
                ",\"data_offsets\":[" + std::to_string(data_size) + "," + std::to_string(data_size + *size) + "]}";
      data_size += *size;
    }
  } catch (const Json::exception& error) {
    throw InputError(std::string("a tensor name or metadata text is not UTF-8: ") + error.what());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  return {header, data_size};
}

}  // namespace

std::int64_t size_of_safetensors(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata) {
  const auto [header, data_size] = header_of(tensors, metadata);
  return kLengthBytes + static_cast<std::int64_t>(header.size()) + data_size;
}

std::vector<std::byte> write_safetensors(std::span<const TensorView> tensors, const SafetensorsMetadata& metadata) {
  const auto [header, data_size] = header_of(tensors, metadata);
  for (const TensorView& tensor : tensors) {
    const auto size = byte_size(tensor.dtype, tensor.shape);
    CHECK_EQ(*size, static_cast<std::int64_t>(tensor.data.size()));
  }
  std::vector<std::byte> bytes(sizeof(std::uint64_t) + header.size() + static_cast<std::size_t>(data_size));
  const std::uint64_t header_size = header.size();
  std::byte* out = bytes.data();
  std::memcpy(out, &header_size, sizeof header_size);
  out += sizeof header_size;
  std::memcpy(out, header.data(), header.size());
  out += header.size();
  for (const TensorView& tensor : tensors) {
    if (tensor.data.empty()) continue;
    std::memcpy(out, tensor.data.data(), tensor.data.size());
    out += tensor.data.size();
  }
  return bytes;
}

}  // namespace rehearse
