#pragma once

#include <string_view>

#include "sim/config/origins.h"

namespace google::protobuf {
class Message;
}

namespace rehearse {

// Reads Protobuf text format into `message` and notes in `origins` where each field stands (a value's own place; a
// group's name). Reads what Protobuf's reader reads, less what that takes silently or reports without a usable place:
// unknown and repeated fields, two fields of one oneof, unknown enum values (by name only), inf, nan, octal and
// hexadecimal numbers, values outside the field's rule. Throws InputError "FILE:LINE:COLUMN: PATH: found ...; allowed
// ...". Whether required fields are there is not its business.
void read_text(std::string_view text, google::protobuf::Message& message, Origins& origins);

}  // namespace rehearse
