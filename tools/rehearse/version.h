#pragma once

namespace rehearse {

// "0.1.0", the project's version.
const char* version();

}  // namespace rehearse
