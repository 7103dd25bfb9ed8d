#include <string>

#include "core/base/error.h"
#include "sim/config/loader.h"
#include "tools/export/nccl_tests.h"
#include "tools/rehearse/commands.h"
#include "tools/rehearse/json.h"
#include "tools/rehearse/report_header.h"
#include "tools/rehearse/text_table.h"

namespace rehearse {
namespace {

// Larger is no table that a person measured.
constexpr Bytes kLargestTable{std::int64_t{16} << 20};

std::string fit_json(const NetworkFit& fit) {
  Json json;
  json["collective"] = name_of(fit.collective);
  json["ranks"] = fit.ranks;
  json["latency_us"] = json_number(fit.latency_us);
  json["bandwidth_gbps"] = json_number(fit.bandwidth_gbps);
  json["network"] = fit.network_text();
  json["mean_error"] = json_number(fit.mean_error);
  json["largest_error"] = json_number(fit.largest_error);
  for (const NetworkFit::Point& point : fit.points) {
    json["points"].push_back(Json{{"bytes", point.size.count()},
                                  {"measured_us", json_number(point.measured_us)},
                                  {"fitted_us", json_number(point.fitted_us)},
                                  {"error", json_number(point.error())}});
  }
  return json.dump(2) + "\n";
}

std::string fit_report(const NetworkFit& fit, const std::string& file, const Style& style) {
  std::string out = style.bold("nccl-tests " + file) + "\n\n";
  out += field_line("collective", std::string(name_of(fit.collective)) + " on " + std::to_string(fit.ranks) + " ranks");
  out += field_line("latency", significant(fit.latency_us, 4) + " us");
  out += field_line("bandwidth", significant(fit.bandwidth_gbps, 4) + " Gbps");
  out += field_line("error", significant(fit.mean_error * 100, 3) + " % on average, " +
                                 significant(fit.largest_error * 100, 3) + " % at most");
  TextTable table({{"bytes"}, {"measured us"}, {"fitted us"}, {"error"}});
  for (const NetworkFit::Point& point : fit.points) {
    table.add({grouped(point.size.count()), significant(point.measured_us, 5), significant(point.fitted_us, 5),
               significant(point.error() * 100, 3) + " %"});
  }
  out += section_title("Residuals of the ring formula", style) + table.text(style) + "\n";
  out += "for a scenario's cluster:\n  " + fit.network_text() + "\n";
  return out;
}

}  // namespace

ExitCode execute_import(const ImportCommand& command, Console& console) {
  const NcclTable table = read_nccl_table(read_real_file(command.file, kLargestTable), command.file);
  NcclCollective collective = table.collective;
  if (!command.collective.empty()) collective = nccl_collective(command.collective);
  if (collective == NcclCollective::kUnknown) {
    throw InputError("import: " +
                     (command.collective.empty()
                          ? command.file + " does not say of which collective it is; add --collective "
                          : "--collective: found '" + command.collective + "'; allowed: ") +
                     "all_reduce, all_gather or reduce_scatter");
  }
  const int ranks = command.ranks > 0 ? command.ranks : table.ranks;
  if (ranks < 2) throw InputError("import: " + command.file + " lists no devices; add --ranks N, 2 or more");
  const NetworkFit fit = fit_network(table, collective, ranks, command.file);
  console.out << (command.format == Format::kJson ? fit_json(fit)
                                                  : fit_report(fit, command.file, Style(console.colors)));
  return ExitCode::kDone;
}

}  // namespace rehearse
