#pragma once

#include <string_view>

#include "api/meta/selector.hpp"
#include "base/result.hpp"

namespace api {

/// The text form of a label selector, as kubectl's -l and upstream's nodeSelector take it: "a=b,c in (d,e),!f". Empty
/// text selects everything. "a>1" and "a<1" are errors: a LabelSelector cannot say them. Requirements come out with
/// the plain key=value ones first, by key. Never throws.
base::Result<LabelSelector> parse_selector_text(std::string_view text);

}  // namespace api
