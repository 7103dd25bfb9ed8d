#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

// JSON whose objects keep the order of their keys, so that a file's text is a function of its content. Include in .cc
// files only: the library's header is large. Its templates are compiled once, in json.cc; in every file that uses them
// they were a quarter of a whole build.

extern template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace rehearse {

using Json = nlohmann::ordered_json;

// Called for each part of a text that is read; the library's parser_callback_t.
using JsonWatch = Json::parser_callback_t;

// The value that `text` holds. Throws Json::exception for what is not JSON in UTF-8, and what `watch` throws.
Json parse_json(std::string_view text, const JsonWatch& watch = nullptr);

// The same, and a value that is_discarded() for what is not JSON.
Json parse_json_or_discarded(std::string_view text);

}  // namespace rehearse
