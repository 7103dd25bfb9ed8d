#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/error.h"
#include "core/checkpoint/manifest.h"
#include "core/checkpoint/names.h"

namespace rehearse {
namespace {

// Unit sizes are multiples of this many elements a data-parallel rank (design section 7).
constexpr std::int64_t kPadding = 16;

class Checker {
 public:
  Checker(const Manifest& manifest, const std::string& source) : manifest_(manifest), source_(source) {}

  void check_all() {
    check_layout();
    check_counters();
    check_parameters();
    check_units();
    check_shards();
    check_ranges();
    check_file(manifest_.model, kModelFile, "model");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(source_ + ": " + what); }

  void check_layout() const {
    const ParallelLayout& layout = manifest_.layout;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(layout.data, layout.tensor, &product) ||
        __builtin_mul_overflow(product, layout.pipeline, &product) || product != manifest_.world_size) {
      refuse("layout: data " + std::to_string(layout.data) + " x tensor " + std::to_string(layout.tensor) +
             " x pipeline " + std::to_string(layout.pipeline) + " is not world_size " +
             std::to_string(manifest_.world_size));
    }
    if (layout.tensor != 1) {
      refuse("layout.tensor: found " + std::to_string(layout.tensor) + ", allowed in schema version " +
             std::to_string(kManifestSchema) + " is 1: its units hold whole parameters");
    }
  }

  void check_counters() const {
    if (manifest_.applied_steps > manifest_.step) {
      refuse("applied_steps: found " + std::to_string(manifest_.applied_steps) + ", allowed is at most step " +
             std::to_string(manifest_.step));
    }
    std::set<std::string> streams;
    for (const RandomStreamRecord& stream : manifest_.random_streams) {
      if (!streams.insert(stream.name).second) refuse("random stream \"" + stream.name + "\" appears twice");
    }
  }

  void check_parameters() {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < manifest_.parameters.size(); ++i) {
      const ParameterRecord& parameter = manifest_.parameters[i];
      std::int64_t count = 1;
      for (const std::int64_t extent : parameter.shape) {
        if (__builtin_mul_overflow(count, extent, &count)) count = -1;
        if (count < 0) refuse("parameter \"" + parameter.name + "\": its shape does not fit 63-bit sizes");
      }
      if (__builtin_add_overflow(total, count, &total)) refuse("the parameters do not fit 63-bit sizes");
      if (!parameter_index_.emplace(parameter.name, i).second) {
        refuse("parameter \"" + parameter.name + "\" appears twice");
      }
      numel_.push_back(count);
    }
    if (manifest_.parameters.empty()) refuse("parameters: the list is empty");
  }

  void check_units() const {
    std::vector<int> unit_of(numel_.size(), -1);
    for (std::size_t u = 0; u < manifest_.units.size(); ++u) {
      const UnitRecord& unit = manifest_.units[u];
      const std::string where = "units[" + std::to_string(u) + "]";
      const auto first = parameter_index_.find(unit.first_parameter);
      if (first == parameter_index_.end()) {
        refuse(where + ".first_parameter: \"" + unit.first_parameter + "\" is not a parameter of this checkpoint");
      }
      if (unit.parameters > static_cast<std::int64_t>(numel_.size() - first->second)) {
        refuse(where + ".parameters: found " + std::to_string(unit.parameters) + ", but only " +
               std::to_string(numel_.size() - first->second) + " parameters begin at \"" + unit.first_parameter + "\"");
      }
      std::int64_t total = 0;
      for (std::size_t p = first->second; p < first->second + static_cast<std::size_t>(unit.parameters); ++p) {
        if (unit_of[p] >= 0) {
          refuse("parameter \"" + manifest_.parameters[p].name + "\" is in units " + std::to_string(unit_of[p]) +
                 " and " + std::to_string(u));
        }
        unit_of[p] = static_cast<int>(u);
        total += numel_[p];
      }
      expect(where + ".numel", unit.numel, total, "the elements of its parameters");
      const std::int64_t multiple = kPadding * manifest_.layout.data;
      expect(where + ".padded_numel", unit.padded_numel, (total + multiple - 1) / multiple * multiple,
             "numel rounded up to a multiple of " + std::to_string(multiple));
    }
    const auto missing = std::find(unit_of.begin(), unit_of.end(), -1);
    if (missing != unit_of.end()) {
      refuse("parameter \"" + manifest_.parameters[static_cast<std::size_t>(missing - unit_of.begin())].name +
             "\" is in no unit");
    }
  }

  void check_shards() const {
    expect("shards", static_cast<std::int64_t>(manifest_.shards.size()), manifest_.world_size,
           "one for each of world_size ranks");
    std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t>> places;
    for (std::size_t s = 0; s < manifest_.shards.size(); ++s) {
      const ShardRecord& shard = manifest_.shards[s];
      const std::string where = "shards[" + std::to_string(s) + "]";
      expect(where + ".rank", shard.rank, static_cast<std::int64_t>(s), "ranks in order");
      const Coordinates& at = shard.coordinates;
      const ParallelLayout& layout = manifest_.layout;
      if (at.data >= layout.data || at.tensor >= layout.tensor || at.pipeline >= layout.pipeline) {
        refuse(where + ".coordinates lie outside the layout");
      }
      if (!places.emplace(at.data, at.tensor, at.pipeline).second) {
        refuse(where + ".coordinates are those of another shard, too");
      }
      check_file(shard.file, shard_file_name(shard.rank), where);
    }
  }

  void check_file(const FileRecord& file, const std::string& name, const std::string& where) const {
    if (file.file != name) refuse(where + ".file: found \"" + file.file + "\", allowed is \"" + name + "\"");
  }

  void check_ranges() const {
    struct Owned {
      ShardRange range;
      std::int64_t rank;
    };
    std::vector<std::vector<Owned>> by_unit(manifest_.units.size());
    for (const ShardRecord& shard : manifest_.shards) {
      const std::string where = "shards[" + std::to_string(shard.rank) + "].ranges: ";
      std::pair<std::int64_t, std::int64_t> previous(-1, 0);
      for (const ShardRange& range : shard.ranges) {
        if (range.unit >= static_cast<std::int64_t>(manifest_.units.size())) {
          refuse(where + "unit " + std::to_string(range.unit) + " does not exist, there are " +
                 std::to_string(manifest_.units.size()));
        }
        const std::int64_t numel = manifest_.units[static_cast<std::size_t>(range.unit)].numel;
        if (range.param_shard_offset > numel || range.param_shard_numel > numel - range.param_shard_offset) {
          refuse(where + "offset " + std::to_string(range.param_shard_offset) + " + numel " +
                 std::to_string(range.param_shard_numel) + " leaves unit " + std::to_string(range.unit) +
                 ", which has " + std::to_string(numel) + " elements");
        }
        const std::pair<std::int64_t, std::int64_t> place(range.unit, range.param_shard_offset);
        if (place <= previous) refuse(where + "must be in order of unit and offset");
        previous = place;
        by_unit[static_cast<std::size_t>(range.unit)].push_back(Owned{range, shard.rank});
      }
    }
    for (std::size_t u = 0; u < by_unit.size(); ++u) {
      std::vector<Owned>& owned = by_unit[u];
      std::stable_sort(owned.begin(), owned.end(), [](const Owned& a, const Owned& b) {
        return a.range.param_shard_offset < b.range.param_shard_offset;
      });
      std::int64_t covered = 0;
      for (const Owned& part : owned) {
        const std::string where = "unit " + std::to_string(u) + ": the range of rank " + std::to_string(part.rank) +
                                  " begins at element " + std::to_string(part.range.param_shard_offset) +
                                  ", but those before it end at " + std::to_string(covered);
        if (part.range.param_shard_offset < covered) refuse("shards overlap: " + where);
        if (part.range.param_shard_offset > covered) refuse("a gap between shards: " + where);
        covered = part.range.end();
      }
      const std::int64_t numel = manifest_.units[u].numel;
      if (covered != numel) {
        refuse("a gap between shards: unit " + std::to_string(u) + " has " + std::to_string(numel) +
               " elements, but its ranges end at " + std::to_string(covered));
      }
    }
  }

  void expect(const std::string& where, std::int64_t found, std::int64_t allowed, const std::string& why) const {
    if (found == allowed) return;
    refuse(where + ": found " + std::to_string(found) + ", allowed is " + std::to_string(allowed) + " (" + why + ")");
  }

  const Manifest& manifest_;
  const std::string& source_;
  std::map<std::string, std::size_t> parameter_index_;
  std::vector<std::int64_t> numel_;  // by parameter
};

void compare(const std::string& source, const std::string& what, const std::string& found, const std::string& wanted) {
  if (found != wanted)
    throw InputError(source + ": " + what + " of the checkpoint is " + found + ", of this job " + wanted);
}

std::string text_of(const ParallelLayout& layout) {
  return "data " + std::to_string(layout.data) + ", tensor " + std::to_string(layout.tensor) + ", pipeline " +
         std::to_string(layout.pipeline);
}

std::string text_of(const ParameterRecord& parameter) {
  std::string text = "\"" + parameter.name + "\" [";
  for (std::size_t i = 0; i < parameter.shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(parameter.shape[i]);
  }
  return text + "]";
}

}  // namespace

void check_manifest(const Manifest& manifest, const std::string& source) { Checker(manifest, source).check_all(); }

void check_matches_for_resharding(const Manifest& manifest, const ExpectedManifest& expected,
                                  const std::string& source) {
  compare(source, "dtype", name_of(manifest.dtype), name_of(expected.dtype));
  compare(source, "number of parameters", std::to_string(manifest.parameters.size()),
          std::to_string(expected.parameters.size()));
  for (std::size_t i = 0; i < expected.parameters.size(); ++i) {
    compare(source, "parameter " + std::to_string(i), text_of(manifest.parameters[i]), text_of(expected.parameters[i]));
  }
}

void check_matches(const Manifest& manifest, const ExpectedManifest& expected, const std::string& source) {
  if (manifest.world_size != expected.world_size) {
    throw InputError(source + ": world_size of the checkpoint is " + std::to_string(manifest.world_size) +
                     ", of this job " + std::to_string(expected.world_size) +
                     "; other ranks continue it where resharding is asked for (rehearse resume --reshard)");
  }
  compare(source, "layout", text_of(manifest.layout), text_of(expected.layout));
  compare(source, "zero_stage", std::to_string(manifest.zero_stage), std::to_string(expected.zero_stage));
  check_matches_for_resharding(manifest, expected, source);
  // Last, because it covers most of the above and says less.
  compare(source, "arithmetic_sha256 (of seed, model, data, train and layout)", manifest.arithmetic_sha256,
          expected.arithmetic_sha256);
}

}  // namespace rehearse
