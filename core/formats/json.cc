#include "core/formats/json.h"

template class nlohmann::basic_json<nlohmann::ordered_map>;

namespace rehearse {

Json parse_json(std::string_view text, const JsonWatch& watch) { return Json::parse(text, watch); }

Json parse_json_or_discarded(std::string_view text) { return Json::parse(text, nullptr, false); }

}  // namespace rehearse
