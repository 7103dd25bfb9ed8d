#include "tools/rehearse/version.h"

namespace rehearse {

const char* version() { return REHEARSE_VERSION; }

}  // namespace rehearse
