#pragma once

#include <string_view>
#include <vector>

#include "tests/tidy/source_text.h"

// g++ 12 destroys some temporaries twice when they live in a full expression that also suspends. Known to be affected:
// aggregates made with braces, both arms of a conditional operator, closures with captures. So a statement that
// contains `co_await` has no braces, no `?` and no lambda that captures; such things are made in a statement before it.
//
// A statement is what ends with `;`, or the head of an if, for, while or switch up to its closing parenthesis. The body
// of a lambda is statements of its own. Not seen: what a macro expands to, and code inside preprocessor lines.

namespace rehearse::tidy {

// One finding a broken statement and reason, at the line of its (first) co_await.
std::vector<Finding> check_coroutine_statements(const std::string& path, std::string_view text);

}  // namespace rehearse::tidy
