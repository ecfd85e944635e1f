#pragma once

/// What nearly every source includes, parsed once a build (CMakeLists.txt). Not for #include: a source names what it
/// uses, and the debug and lint builds do without this.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// Half of the machine code of a source that handles JSON is nlohmann's; it is made once, in precompiled.cpp.
extern template class nlohmann::basic_json<>;
extern template class nlohmann::detail::serializer<nlohmann::json>;
extern template class nlohmann::detail::lexer<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string_view::const_iterator>>;
extern template class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string_view::const_iterator>>;
extern template class nlohmann::detail::lexer<nlohmann::json,
                                              nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
extern template class nlohmann::detail::parser<nlohmann::json,
                                               nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
