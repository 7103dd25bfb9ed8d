#pragma once

#include <functional>
#include <string>

#include "sim/config/origins.h"

namespace google::protobuf {
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace rehearse {

namespace config {
class Scenario;
}

// Throws InputError at the nearest written group where a required field is missing.
void check_required(const google::protobuf::Message& message, Origins& origins);

// Writes every default of the schema into the message, so that a field left out and a field written with its default
// are the same text. A group is made where it can be without deciding anything: it is no member of a oneof and requires
// no field. Of a oneof without a member, the one with a default is set.
void fill_defaults(google::protobuf::Message& message);

// The message as Protobuf text format, one field a line in order of the fields' numbers: equal messages give equal
// bytes, everywhere and with every version of Protobuf, whose own printer promises neither.
std::string canonical_text(const google::protobuf::Message& message);

// Calls `visit(message, field, path)` for every field that is written and names a file, in a fixed order.
using FileVisitor =
    std::function<void(google::protobuf::Message&, const google::protobuf::FieldDescriptor&, const std::string& path)>;
void for_each_file(google::protobuf::Message& message, const FileVisitor& visit);

// Of a scenario with its defaults filled in and each file replaced by the digest of its contents: what decides the bits
// of the arithmetic (seed, model, data, train and layout), and everything. SHA-256, 64 lower-case hex digits.
std::string arithmetic_digest(config::Scenario scenario);
std::string scenario_digest(const config::Scenario& scenario);

}  // namespace rehearse
