#pragma once

#include <string_view>

#include "api/meta/selector.hpp"
#include "base/result.hpp"

namespace api {

/// Parses the text form of a label selector, as in kubectl's -l and upstream's nodeSelector: "a=b,c in (d,e),!f". Empty
/// text selects everything. "a>1" and "a<1" are errors, because a LabelSelector cannot express them. Plain key=value
/// requirements come first in the result, sorted by key. Never throws.
base::Result<LabelSelector> parse_selector_text(std::string_view text);

}  // namespace api
