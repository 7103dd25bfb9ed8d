#pragma once

#include <string>

#include "sim/config/origins.h"

namespace google::protobuf {
class Message;
}

namespace rehearse {

// Applies one `--set PATH=VALUE`: PATH is the names of fields joined by dots, an element of a repeated field with its
// index ("cluster.device.slowdown[0].factor"; the index one past the last adds an element); VALUE is a number, true or
// false, the name of an enum value, or text with or without quotes. Groups that are not there yet are made; where the
// field belongs to a oneof, it replaces the other. Throws InputError that begins with the option.
void apply_override(const std::string& override, google::protobuf::Message& message, Origins& origins);

}  // namespace rehearse
