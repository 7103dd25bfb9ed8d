#pragma once

#include <string>
#include <vector>

#include "sim/config/text_lexer.h"

namespace google::protobuf {
class Descriptor;
class EnumDescriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace rehearse {

// What a field may hold, from its type and its rule: "allowed: whole numbers from 1 to 65536".
std::string allowed_text(const google::protobuf::FieldDescriptor& field);

// Sets `field` (no group) of `message` to the value of `token`, or appends it where the field is repeated; quantities
// with a unit are stored in their canonical spelling. Returns what is wrong, "found ...; allowed: ...", and leaves the
// message alone where something is; "" when all is well.
std::string set_field(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                      const TextToken& token);

// Names of the fields of a group, in the order of the schema.
std::vector<std::string> field_names(const google::protobuf::Descriptor& group);

}  // namespace rehearse
