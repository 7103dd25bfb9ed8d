#pragma once

#include <string>
#include <vector>

namespace rehearse {

// A field that a scenario file may have, as the schema's own comments describe it.
struct FieldEntry {
  std::string path;     // "cluster.network.latency"
  std::string type;     // "duration", "whole number", "group", "TRAIN or COST"
  std::string allowed;  // in words; empty where the type says it all
  std::string default_value;
  std::string comment;
  bool required = false;
  bool repeated = false;
};

// Every field of a scenario, in the order of the schema, groups before what is in them.
std::vector<FieldEntry> scenario_fields();

// The reference of the fields from `path` down ("": of all) in lines of 100 columns. Throws InputError for a path that
// no field has.
std::string field_reference(const std::string& path);

// The schema as protoc describes it, with its comments: a FileDescriptorSet in Protobuf's wire format.
std::string scenario_schema();

}  // namespace rehearse
