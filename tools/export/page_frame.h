#pragma once

#include <string>

namespace rehearse {

// The page around `body`: head, style and the script that shows tips.
std::string page_of(const std::string& title, const std::string& body);

// A part of a page: <section> with its title; `note` explains it in small print.
std::string section(const std::string& title, const std::string& content, const std::string& note = "");

}  // namespace rehearse
