#pragma once

#include <string>

namespace rehearse {

// The shortest text that reads back to the same bits (std::to_chars); "nan", "inf" and "-inf" for those, which JSON
// writers must put in quotes.
std::string shortest_text(double value);
std::string shortest_text(float value);

}  // namespace rehearse
