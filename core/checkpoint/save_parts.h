#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/checkpoint/manifest.h"
#include "core/checkpoint/save.h"
#include "core/runtime/payload.h"

namespace rehearse {

// What saves to either tier have in common.

// Everything of a checkpoint but the shards, ready to be written.
struct CheckpointRest {
  std::map<std::string, Payload> files;  // path in the directory -> contents
  std::string manifest;
};
CheckpointRest rest_of(const CheckpointDraft& draft, std::vector<ShardRecord> shards);

// Name, size and digest; in cost-only mode there are no bytes to digest.
FileRecord record_of(const std::string& name, const Payload& data);

// What a rank reports to rank 0: the record of the shard that it wrote, or what went wrong.
std::string report_written(const ShardRecord& shard);
std::string report_failed(std::string_view problem);
// The shards that the ranks report; gives every problem they met, in words.
std::string collect_reports(const std::vector<std::string>& reports, std::vector<ShardRecord>& shards);

}  // namespace rehearse
