#include "sim/config/loader.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "sim/config/canonical.h"
#include "sim/config/convert.h"
#include "sim/config/convert_domains.h"
#include "sim/config/model_presets.h"
#include "sim/config/network_presets.h"
#include "sim/config/overrides.h"
#include "sim/config/roofline_presets.h"
#include "sim/config/scenario.pb.h"
#include "sim/config/text_reader.h"

namespace rehearse {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

enum class Role { kRun, kWeightsReference };

constexpr std::string_view kSha256Prefix = "sha256:";

std::string resolve(const std::string& scenario_path, const std::string& path) {
  return (std::filesystem::path(scenario_path).parent_path() / path).lexically_normal().string();
}

// The comment lines that the text begins with.
std::string leading_comment(std::string_view text) {
  std::string story;
  while (text.starts_with('#')) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line.remove_prefix(line.starts_with("# ") ? 2 : 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    story += (story.empty() ? "" : "\n") + std::string(line);
  }
  return story;
}

config::Scenario without_expect(config::Scenario scenario) {
  scenario.clear_expect();
  return scenario;
}

// The faults but those that change no bits: crashes, failures at a rate, and what makes messages late or has them sent
// again. Nothing, too, where there are flips alone, which strike wherever their steps are.
config::Faults without_harmless(config::Faults faults) {
  config::Faults rest = faults;
  rest.clear_crash();
  rest.clear_rate();
  rest.clear_link_down();
  rest.clear_partition();
  rest.clear_link_bandwidth();
  rest.clear_link_latency();
  rest.clear_loss();
  rest.clear_duplicate();
  rest.clear_reorder();
  rest.clear_delay();
  faults.clear_flip();
  if (faults.ByteSizeLong() == 0) rest.clear_flip();
  return rest;
}

// A job with as many ranks as its batches are planned for is written without saying so, and one that computes no
// gradient twice, or whose model is the MiniGPT, or whose types are those of the model.
void drop_what_says_nothing(config::Scenario& scenario) {
  if (scenario.train().data_ranks() == scenario.cluster().ranks()) scenario.mutable_train()->clear_data_ranks();
  const config::Guards& guards = scenario.train().guards();
  if (guards.has_recompute_every() && guards.recompute_every() == 0) {
    scenario.mutable_train()->mutable_guards()->clear_recompute_every();
  }
  clear_default_types(scenario);
  if (scenario.has_model()) clear_default_shape(*scenario.mutable_model());
}

class Loading {
 public:
  Loading(const std::string& source, const FileReader& read_file, const LoadOptions& options, Role role)
      : source_(source), read_file_(read_file), options_(options), role_(role), origins_(source) {}

  Scenario load(const std::string& text) {
    read_message(text);
    std::vector<std::string> dropped;
    if (role_ == Role::kRun && (options_.seed || !options_.overrides.empty())) dropped = drop_pins(text);
    // The digests see what the files hold, not how they are called.
    config::Scenario hashed = message_;
    for_each_file(hashed, [&](Message& group, const FieldDescriptor& field, const std::string& path) {
      const std::string named = group.GetReflection()->GetString(group, &field);
      const bool input = field.options().GetExtension(config::rule).file() == config::Rule::INPUT;
      const std::string digest = input ? read_input(path, named) : read_reference(path, named);
      group.GetReflection()->SetString(&group, &field, digest);
    });

    Scenario scenario = convert(message_, files_, origins_);
    scenario.file_path = source_;
    scenario.story = leading_comment(text);
    scenario.inputs = std::move(inputs_);
    if (!scenario.picked.empty()) {
      write_picked(scenario, message_);
      write_picked(scenario, hashed);
    }
    scenario.text = canonical_text(message_);
    scenario.dropped_pins = std::move(dropped);
    scenario.scenario_sha256 = scenario_digest(hashed);
    scenario.arithmetic_sha256 = arithmetic_digest(hashed);
    return scenario;
  }

 private:
  // Drops the digests that the file expects of what it says itself, where the options make it say something else: the
  // fields that were dropped. A digest that the options set stays.
  std::vector<std::string> drop_pins(const std::string& text) {
    config::Scenario written;
    try {
      Origins origins(source_);
      read_text(text, written, origins);
      fill_model_preset(written, origins);
      check_required(written, origins);
      fill_domain_defaults(written);
      fill_network_preset(written, origins);
      fill_roofline_preset(written, origins);
      fill_defaults(written);
      drop_what_says_nothing(written);
    } catch (const InputError&) {
      written.Clear();  // says nothing by itself
    }
    // A run without numbers has no digests, and takes the times of the one with them: of its text, too.
    config::Scenario found = message_;
    found.clear_mode();
    written.clear_mode();
    std::vector<std::string> dropped;
    config::Expect& expect = *message_.mutable_expect();
    // Of other faults what comes of them may depend on when things happen: a crash has a flip undone or not. Then
    // everything may decide.
    const config::Faults& faults = found.faults();
    const bool same_faults = canonical_text(faults) == canonical_text(written.faults());
    const bool same_bits = without_harmless(faults).ByteSizeLong() > 0
                               ? canonical_text(without_expect(found)) == canonical_text(without_expect(written))
                               : same_faults && arithmetic_digest(found) == arithmetic_digest(written);
    if (!same_bits && written.expect().has_weights_sha256() && !is_set_by_option("expect.weights_sha256")) {
      expect.clear_weights_sha256();
      dropped.emplace_back("weights_sha256");
    }
    // Everything counts here: checkpoints hold the scenario's text, and take the longer the longer it is.
    if (canonical_text(found) != canonical_text(written) && written.expect().has_event_digest() &&
        !is_set_by_option("expect.event_digest")) {
      expect.clear_event_digest();
      dropped.emplace_back("event_digest");
    }
    return dropped;
  }

  bool is_set_by_option(const std::string& path) const {
    return origins_.where(path).starts_with("--set " + path + "=");
  }

  void read_message(const std::string& text) {
    if (std::cmp_greater(text.size(), kScenarioFileLimit.count())) {
      throw InputError(source_ + ":1:1: found more than 1 MiB of text; no scenario is as large");
    }
    read_text(text, message_, origins_);
    for (const std::string& override : options_.overrides) apply_override(override, message_, origins_);
    if (options_.seed) {
      message_.set_seed(*options_.seed);
      origins_.set("seed", "--seed " + std::to_string(*options_.seed));
    }
    if (role_ == Role::kWeightsReference) message_.clear_expect();
    fill_model_preset(message_, origins_);
    check_required(message_, origins_);
    fill_domain_defaults(message_);
    fill_network_preset(message_, origins_);
    fill_roofline_preset(message_, origins_);
    fill_defaults(message_);
    drop_what_says_nothing(message_);
  }

  std::string read(const std::string& path, const std::string& named, Bytes limit) {
    try {
      return read_file_(resolve(source_, named), limit);
    } catch (const InputError& error) {
      origins_.fail(path, error.what());
    }
  }

  std::string read_input(const std::string& path, const std::string& named) {
    std::string contents = read(path, named, kInputFileLimit);
    InputFile file{named, sha256_hex(contents), std::make_shared<const std::string>(std::move(contents))};
    inputs_.push_back(file);
    files_.inputs.emplace(path, file);
    return std::string(kSha256Prefix) + file.sha256;
  }

  std::string read_reference(const std::string& path, const std::string& named) {
    WeightsReference reference;
    reference.text = named;
    std::string digest = named;
    if (named == "fault-free" && message_.faults().ByteSizeLong() > 0) {
      config::Scenario without = message_;
      without.clear_faults();
      without.clear_expect();
      reference.scenario = std::make_shared<const Scenario>(
          Loading(source_, read_file_, LoadOptions(), Role::kWeightsReference).load(canonical_text(without)));
      digest = "arithmetic:" + reference.scenario->arithmetic_sha256;
    } else if (named == "fault-free") {
      origins_.fail(path,
                    "found \"fault-free\", but the scenario has no faults to leave out; allowed: the path of another "
                    "scenario, or \"sha256:\" and 64 hex digits");
    } else if (named.starts_with(kSha256Prefix)) {
      reference.sha256 = named.substr(kSha256Prefix.size());
      if (!is_sha256_hex(reference.sha256)) {
        origins_.fail(path, "found \"" + named + "\"; allowed: \"sha256:\" and exactly 64 lower-case hex digits");
      }
    } else {
      const std::string text = read(path, named, kScenarioFileLimit);
      LoadOptions options;
      options.seed = options_.seed;
      const std::string other = resolve(source_, named);
      reference.scenario =
          std::make_shared<const Scenario>(Loading(other, read_file_, options, Role::kWeightsReference).load(text));
      digest = "arithmetic:" + reference.scenario->arithmetic_sha256;
    }
    files_.weights = std::move(reference);
    return digest;
  }

  std::string source_;
  const FileReader& read_file_;
  const LoadOptions& options_;
  Role role_;
  Origins origins_;
  config::Scenario message_;
  NamedFiles files_;
  std::vector<InputFile> inputs_;
};

[[noreturn]] void cannot_read(const std::string& path, const std::string& why) {
  throw InputError("cannot read " + path + ": " + why);
}

}  // namespace

std::string read_real_file(const std::string& path, Bytes limit) {
  // A pipe would wait for ever for whoever writes it, a device may never end.
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
      !std::filesystem::is_directory(status)) {
    cannot_read(path, "it is no regular file");
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (file == nullptr) cannot_read(path, std::generic_category().message(errno));
  std::string contents;
  std::string block(std::size_t{1} << 16, '\0');
  for (;;) {
    const std::size_t got = std::fread(block.data(), 1, block.size(), file.get());
    contents.append(block, 0, got);
    if (std::cmp_greater(contents.size(), limit.count())) cannot_read(path, "larger than " + to_string(limit));
    if (got == block.size()) continue;
    if (std::ferror(file.get()) != 0) cannot_read(path, std::generic_category().message(errno));
    return contents;
  }
}

Scenario parse_scenario(const std::string& text, const std::string& source_name, const FileReader& read_file,
                        const LoadOptions& options) {
  return Loading(source_name, read_file, options, Role::kRun).load(text);
}

Scenario load_scenario(const std::string& path, const LoadOptions& options) {
  return parse_scenario(read_real_file(path, kScenarioFileLimit), path, read_real_file, options);
}

}  // namespace rehearse
