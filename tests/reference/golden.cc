#include "tests/reference/golden.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "core/base/check.h"
#include "core/formats/json.h"
#include "core/formats/safetensors.h"
#include "core/model/layout.h"
#include "core/model/load.h"

namespace rehearse::reference {
namespace {

std::string read_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

template <class T>
std::vector<T> flat_parameters(const ParameterLayout& layout, const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path);
  std::vector<T> flat(static_cast<std::size_t>(layout.total()));
  load_parameters<T>(SafetensorsFile::parse(bytes, path), layout, table_of_flat<T>(layout, flat.data()), path);
  return flat;
}

}  // namespace

std::vector<std::byte> read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) check_failed(__FILE__, __LINE__, "cannot read " + path);
  const std::vector<char> chars((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::byte> bytes(chars.size());
  if (!bytes.empty()) std::memcpy(bytes.data(), chars.data(), chars.size());
  return bytes;
}

Golden load_golden(const std::string& data, const std::string& name) {
  Golden golden;
  golden.folder = data + "/" + name;
  const Json config = parse_json(read_text(golden.folder + "/config.json"));
  golden.config = {config["layers"], config["embed"], config["heads"], config["vocab"], config["seq"]};
  const ParameterLayout layout(golden.config);
  golden.init = flat_parameters<float>(layout, golden.folder + "/init.safetensors");
  golden.first_gradient = flat_parameters<double>(layout, golden.folder + "/grads_step1_f64.safetensors");
  golden.first_params = flat_parameters<double>(layout, golden.folder + "/params_step1_f64.safetensors");
  golden.final_params = flat_parameters<double>(layout, golden.folder + "/params_final_f64.safetensors");

  const std::string path = golden.folder + "/tokens.safetensors";
  const std::vector<std::byte> bytes = read_bytes(path);
  const SafetensorsFile file = SafetensorsFile::parse(bytes, path);
  const TensorView* tokens = file.find("tokens");
  CHECK(tokens != nullptr && tokens->dtype == DType::kInt32 && tokens->shape.size() == 4);
  CHECK_EQ(tokens->shape[3], golden.config.context + 1);
  golden.tokens = {tokens->shape[0], tokens->shape[1], tokens->shape[2], {}};
  golden.tokens.ids.resize(tokens->data.size() / sizeof(std::int32_t));
  std::memcpy(golden.tokens.ids.data(), tokens->data.data(), tokens->data.size());
  return golden;
}

GoldenVariant load_variant(const Golden& golden, const std::string& variant) {
  const std::string stem = golden.folder + "/expected" + (variant.empty() ? "" : "_" + variant);
  const Json json = parse_json(read_text(stem + "_options.json"));
  GoldenVariant result;
  Options& o = result.options;
  o.lr = json["lr"];
  o.beta1 = json["beta1"];
  o.beta2 = json["beta2"];
  o.eps = json["eps"];
  o.weight_decay = json["wd"];
  o.decay_matrices_only = json["wd_mask"] == "matrices";
  o.clip_norm = json["clip"];
  o.accumulate = json["accum"];
  o.warmup_steps = json["warmup"];
  o.cosine = json["cosine"];
  o.min_lr = json["min_lr"];
  o.spike_step = json["spike_step"].get<std::int64_t>() + 1;  // the file counts from 0, -1 for none
  o.spike_factor = json["spike_mult"];
  std::ifstream lines(stem + "_f64.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const Json step = parse_json(line);
    result.steps.push_back({step["loss"], step["rank_loss"].get<std::vector<double>>(), step["grad_norm"], step["lr"],
                            step["param_norm"]});
  }
  CHECK_EQ(static_cast<std::int64_t>(result.steps.size()), golden.tokens.steps);
  return result;
}

template <class T>
double relative_l2(const std::vector<T>& a, const std::vector<double>& b) {
  CHECK_EQ(a.size(), b.size());
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    size += b[i] * b[i];
  }
  return std::sqrt(difference / size);
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<double>& b) {
  CHECK_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(static_cast<double>(a[i]) - b[i]));
  return largest;
}

template double relative_l2(const std::vector<float>&, const std::vector<double>&);
template double relative_l2(const std::vector<double>&, const std::vector<double>&);
template double largest_difference(const std::vector<float>&, const std::vector<double>&);
template double largest_difference(const std::vector<double>&, const std::vector<double>&);

}  // namespace rehearse::reference
