#pragma once

#include <string>

namespace rehearse {

// The manual page in roff's man macros, made of what --help says.
std::string man_page();

}  // namespace rehearse
