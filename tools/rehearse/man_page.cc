#include "tools/rehearse/man_page.h"

#include <sstream>
#include <vector>

#include "tools/rehearse/help.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

// Text that roff takes as it is. What begins with a dot or a quote would be a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::size_t indent_of(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? line.size() : first;
}

// Turns the text of one help into paragraphs, tagged lists and examples, line by line.
class Converter {
 public:
  std::string convert(const std::string& help) {
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);) add(line);
    leave_verbatim();
    return std::move(out_);
  }

 private:
  void leave_verbatim() {
    if (verbatim_) out_ += ".fi\n.RE\n";
    verbatim_ = false;
  }

  void enter_verbatim() {
    leave_verbatim();
    out_ += ".RS 4\n.nf\n";
    verbatim_ = true;
  }

  void add(const std::string& line) {
    const std::size_t indent = indent_of(line);
    if (line.empty()) {
      leave_verbatim();
      out_ += ".PP\n";
      in_list_ = false;
      return;
    }
    if (line.starts_with("usage: ")) {
      out_ += ".SS Usage\n";
      enter_verbatim();
      out_ += roff(line.substr(7)) + "\n";
      return;
    }
    if (line == "examples:") {
      out_ += ".SS Examples\n";
      enter_verbatim();
      return;
    }
    if (verbatim_) {
      out_ += roff(line.substr(indent)) + "\n";
      return;
    }
    if (indent == 2) return add_item(line.substr(2));
    if (indent > 2 && in_list_) {
      out_ += roff(line.substr(indent)) + "\n";
      return;
    }
    if (in_list_) out_ += ".PP\n";
    in_list_ = false;
    out_ += roff(line.substr(indent)) + "\n";
  }

  // "--name VALUE   what it does"
  void add_item(const std::string& item) {
    const std::size_t gap = item.find("  ");
    const std::size_t text = gap == std::string::npos ? gap : item.find_first_not_of(' ', gap);
    // A tag that is as wide as its column has one blank behind it.
    std::string tag = item.substr(0, gap);
    std::string rest = text == std::string::npos ? "" : item.substr(text);
    out_ += ".TP\n.B " + roff(tag) + "\n";
    if (!rest.empty()) out_ += roff(rest) + "\n";
    in_list_ = true;
  }

  std::string out_;
  bool verbatim_ = false;
  bool in_list_ = false;
};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

}  // namespace

std::string man_page() {
  const std::string general = general_help();
  const std::size_t colon = general.find(": ");
  const std::size_t first_line = general.find('\n');
  const std::size_t exit_codes = general.find("exit codes: ");
  std::string out = ".TH REHEARSE 1 \"\" \"rehearse " + std::string(version()) + "\" \"User Commands\"\n";
  out += ".SH NAME\nrehearse \\- " + roff(general.substr(colon + 2, first_line - colon - 2)) + "\n";
  out += ".SH SYNOPSIS\n.B rehearse\n.I COMMAND\n[\\,\\fIARGUMENT\\fR\\/]...\n";
  out += ".SH DESCRIPTION\n" + Converter().convert(general.substr(first_line + 2, exit_codes - first_line - 2));
  for (const std::string& command : command_names()) {
    out += ".SH \"REHEARSE " + upper(command) + "\"\n" + Converter().convert(command_help(command));
  }
  out += ".SH \"EXIT STATUS\"\n";
  std::istringstream codes(general.substr(exit_codes + 12));
  for (std::string line; std::getline(codes, line);) out += roff(line.substr(indent_of(line))) + "\n";
  out += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhere it is set and not empty, a terminal gets no colors either.\n";
  return out;
}

}  // namespace rehearse
