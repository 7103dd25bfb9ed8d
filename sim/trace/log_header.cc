#include "sim/trace/log_header.h"

#include <span>

namespace rehearse {

Digest128 log_seal(std::string_view header_frame, std::uint64_t records, const std::string& event_digest,
                   const std::string& outcome) {
  const std::string end = std::to_string(records) + " " + event_digest + " " + outcome;
  Xxh3Stream seal;
  seal.update(std::as_bytes(std::span(header_frame)));
  seal.update(std::as_bytes(std::span(end)));
  return seal.finish();
}

}  // namespace rehearse
