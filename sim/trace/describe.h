#pragma once

#include <string>
#include <vector>

#include "core/model/layout.h"
#include "sim/kernel/event_record.h"

namespace rehearse {

// A record in one line of words: time, what it is, whose, and the digest. Tensors by their names where `layout` is
// given.
std::string describe(const EventRecord& record, const ParameterLayout* layout = nullptr);

// "gradients of ln_f.bias, elements 0 to 31": what the digest of a kState record is of.
std::string describe_state(const EventRecord& record, const ParameterLayout* layout = nullptr);

// In what fields two records differ: "time, size and digest".
std::string differing_fields(const EventRecord& a, const EventRecord& b);

}  // namespace rehearse
