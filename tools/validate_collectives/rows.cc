#include "tools/validate_collectives/rows.h"

#include <fstream>

#include "core/base/error.h"
#include "core/formats/json.h"

namespace rehearse {
namespace {

class Reader {
 public:
  Reader(const std::string& path, int line, const std::string& text) : where_(path + ":" + std::to_string(line)) {
    json_ = Json::parse(text, nullptr, false);
    if (!json_.is_object()) throw InputError(where_ + ": found no JSON object; allowed: one on each line");
  }

  std::string text(const char* field) const {
    const Json& value = need(field);
    if (!value.is_string()) fail(field, "text");
    return value.get<std::string>();
  }
  std::int64_t whole(const char* field, std::int64_t least, std::int64_t most) const {
    const Json& value = need(field);
    const std::string allowed = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value.is_number_integer()) fail(field, allowed);
    const auto number = value.get<std::int64_t>();
    if (number < least || number > most) fail(field, allowed);
    return number;
  }
  double positive(const char* field) const {
    const Json& value = need(field);
    if (!value.is_number() || value.get<double>() <= 0) fail(field, "a number above 0");
    return value.get<double>();
  }
  [[noreturn]] void fail(const char* field, const std::string& allowed) const {
    throw InputError(where_ + ": " + field + ": found " + need(field).dump() + "; allowed: " + allowed);
  }

 private:
  const Json& need(const char* field) const {
    const auto found = json_.find(field);
    if (found == json_.end()) throw InputError(where_ + ": found no " + field);
    return *found;
  }
  std::string where_;
  Json json_;
};

bool has(const std::string& text, const char* word) { return text.find(word) != std::string::npos; }

std::optional<GpuGeneration> generation_of(const std::string& gpu) {
  if (has(gpu, "GB200")) return GpuGeneration::kBlackwellRack;
  if (has(gpu, "B200")) return GpuGeneration::kBlackwell;
  if (has(gpu, "H100") || has(gpu, "H200")) return GpuGeneration::kHopper;
  if (has(gpu, "A100")) return GpuGeneration::kAmpere;
  return std::nullopt;
}

std::optional<HostLink> link_of(const std::string& network) {
  if (has(network, "TCPXO")) return HostLink::kTcpxo;
  if (has(network, "TCPX")) return HostLink::kTcpx;
  if (has(network, "EFA v1")) return HostLink::kEfa1;
  if (has(network, "EFA")) return HostLink::kEfa2;
  if (has(network, "RoCE")) return HostLink::kRoce;
  if (has(network, "IB") || has(network, "InfiniBand")) return HostLink::kInfiniBand;
  return std::nullopt;
}

Operation operation_of(const Reader& reader) {
  const std::string name = reader.text("collective");
  if (name == "all_reduce") return Operation::kAllReduce;
  if (name == "all_gather") return Operation::kAllGather;
  if (name == "reduce_scatter") return Operation::kReduceScatter;
  if (name == "sendrecv") return Operation::kPointToPoint;
  reader.fail("collective", "all_reduce, all_gather, reduce_scatter, sendrecv");
}

Split split_of(const Reader& reader) {
  for (const Split split : {Split::kFit, Split::kPredict, Split::kApart}) {
    if (reader.text("split") == name_of(split)) return split;
  }
  reader.fail("split", "fit, predict, apart");
}

std::optional<StackSite> site_of(const Reader& reader, const PublishedRow& row) {
  const auto hosts = static_cast<int>(reader.whole("nodes", 1, 65536));
  const std::optional<GpuGeneration> generation = generation_of(row.gpu);
  const std::optional<HostLink> link = link_of(row.network);
  if (row.gpus % hosts != 0) reader.fail("gpus", "a multiple of nodes = " + std::to_string(hosts));
  if (!generation.has_value() || (hosts > 1 && !link.has_value())) return std::nullopt;
  StackSite site;
  site.generation = *generation;
  site.hosts = hosts;
  site.gpus_per_host = row.gpus / hosts;
  site.link = link.value_or(HostLink::kInfiniBand);
  if (hosts > 1) {
    site.nic = Bandwidth::bits_per_second(reader.whole("nic_gbit_per_gpu", 1, 100'000) * 1'000'000'000);
  }
  site.in_switch = !has(row.notes, "NVLS off") && !has(row.notes, "NVLS_ENABLE=0");
  site.network_adds = has(row.notes, "SHARP");
  site.scripted = reader.text("harness") == "script";
  return site;
}

}  // namespace

const char* name_of(Split split) {
  return split == Split::kFit ? "fit" : split == Split::kPredict ? "predict" : "apart";
}

std::vector<PublishedRow> load_published(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw RealIoError(path + ": cannot be read");
  std::vector<PublishedRow> rows;
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    const Reader reader(path, line, text);
    PublishedRow row;
    row.table = reader.text("table");
    row.gpu = reader.text("gpu");
    row.network = reader.text("network");
    row.notes = reader.text("notes");
    row.collective = reader.text("collective");
    row.operation = operation_of(reader);
    // Whole elements of 4 bytes.
    row.size = Bytes(reader.whole("size_bytes", 4, std::int64_t{1} << 50) / 4 * 4);
    row.gpus = static_cast<int>(reader.whole("gpus", 2, 65536));
    row.microseconds = reader.positive("time_us");
    row.split = split_of(reader);
    row.site = site_of(reader, row);
    row.stack = row.site.has_value() ? name_of(row.site->generation) : row.gpu;
    if (row.site.has_value() && row.site->hosts > 1) row.stack += std::string(", ") + name_of(row.site->link);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace rehearse
