#include "tests/tools/export/page_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rehearse {
namespace {

std::string unescaped(std::string text) {
  const std::pair<const char*, const char*> kEntities[] = {
      {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}};
  for (const auto& [entity, plain] : kEntities) {
    for (std::size_t at = 0; (at = text.find(entity, at)) != std::string::npos; ++at) {
      text.replace(at, std::string(entity).size(), plain);
    }
  }
  return text;
}

}  // namespace

std::string between(const std::string& text, const std::string& before, const std::string& after, std::size_t& at) {
  at = text.find(before, at);
  if (at == std::string::npos) return "";
  at += before.size();
  const std::size_t end = text.find(after, at);
  return text.substr(at, end - at);
}

std::multimap<std::string, Json> fields_of(const std::string& page) {
  std::multimap<std::string, Json> fields;
  std::size_t at = 0;
  while (true) {
    const std::string field = between(page, "data-field=\"", "\"", at);
    if (at == std::string::npos) return fields;
    const std::string value = between(page, "data-value=\"", "\"", at);
    fields.emplace(unescaped(field), parse_json(unescaped(value)));
  }
}

Json value_of(const Json& summary, const std::string& path) {
  const Json* here = &summary;
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t dot = std::min(path.find('.', start), path.size());
    const std::string part = path.substr(start, dot - start);
    if (here->is_array()) {
      here = part == "back" ? &here->back() : &(*here)[std::stoul(part)];
    } else {
      here = &here->at(part);
    }
    start = dot + 1;
  }
  return *here;
}

std::string unbalanced_element(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find("<html"); (at = page.find('<', at)) != std::string::npos;) {
    if (page.compare(at, 4, "<!--") == 0) {
      at = page.find("-->", at);
      continue;
    }
    const std::size_t end = page.find('>', at);
    const bool closes = page[at + 1] == '/';
    const std::size_t name_at = at + (closes ? 2 : 1);
    const std::string name = page.substr(name_at, page.find_first_of(" >/\n", name_at) - name_at);
    const bool empty = page[end - 1] == '/' || name == "meta" || name == "link";
    at = end;
    if (closes) {
      if (open.empty() || open.back() != name)
        return name + " is closed where " + (open.empty() ? "" : open.back()) + " is open";
      open.pop_back();
    } else if (!empty) {
      open.push_back(name);
      // What is in them is no markup.
      if (name == "script" || name == "style") at = page.find("</" + name, at);
    }
  }
  return open.empty() ? "" : open.back() + " stays open";
}

}  // namespace rehearse
