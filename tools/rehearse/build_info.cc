#include "tools/rehearse/build_info.h"

#include <cpuid.h>
#include <elf.h>
#include <link.h>

#include <array>
#include <cstring>
#include <string_view>

namespace rehearse {
namespace {

// Notes are a header, a name and a description, each padded to 4 bytes.
std::string build_id_in(const unsigned char* notes, std::size_t size) {
  constexpr std::string_view kGnu("GNU\0", 4);
  const auto padded = [](std::size_t length) { return (length + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const std::size_t whole = sizeof(header) + padded(header.n_namesz) + padded(header.n_descsz);
    if (whole > size) break;
    const unsigned char* name = notes + sizeof(header);
    const unsigned char* id = name + padded(header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == kGnu.size() &&
        std::memcmp(name, kGnu.data(), kGnu.size()) == 0) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      std::string hex;
      for (std::size_t i = 0; i < header.n_descsz; ++i) {
        hex += kDigits[id[i] >> 4];
        hex += kDigits[id[i] & 15];
      }
      return hex;
    }
    notes += whole;
    size -= whole;
  }
  return "";
}

// The first object is the program itself.
int take_build_id(dl_phdr_info* info, std::size_t, void* result) {
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment.p_vaddr);
    const std::string id = build_id_in(notes, segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(result) = id;
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  dl_iterate_phdr(take_build_id, &id);
  return id.empty() ? "unknown" : id;
}

std::string cpu_name() {
  std::array<unsigned, 12> words{};
  for (unsigned i = 0; i < 3; ++i) {
    unsigned* part = words.data() + 4 * i;
    if (__get_cpuid(0x80000002U + i, &part[0], &part[1], &part[2], &part[3]) == 0) return "unknown";
  }
  std::string name(reinterpret_cast<const char*>(words.data()), sizeof(words));
  name.resize(std::strlen(name.c_str()));
  const std::size_t first = name.find_first_not_of(' ');
  const std::size_t last = name.find_last_not_of(' ');
  return first == std::string::npos ? "unknown" : name.substr(first, last - first + 1);
}

}  // namespace rehearse
