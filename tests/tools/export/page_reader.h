#pragma once

#include <map>
#include <string>

#include "core/formats/json.h"

// Reads the pages of `rehearse report` by their text alone. For tests only: it includes the JSON library.

namespace rehearse {

// What stands between two texts, from `at` on, which comes to stand behind `before`; npos where it is not there.
std::string between(const std::string& text, const std::string& before, const std::string& after, std::size_t& at);

// The fields that a page shows, with the values it says they have.
std::multimap<std::string, Json> fields_of(const std::string& page);

// The summary's value of "memory.max.optimizer", "communication.2.bytes" or "losses.back".
Json value_of(const Json& summary, const std::string& path);

// Empty where every element that is opened is closed, in order; else which is not.
std::string unbalanced_element(const std::string& page);

}  // namespace rehearse
