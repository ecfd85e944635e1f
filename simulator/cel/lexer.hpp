#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace simulator::cel {

enum class TokenKind { kName, kInteger, kReal, kString, kOperator, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text{};  ///< unescaped, if it is a string
  std::size_t at = 0;  ///< offset of the first byte in the source
};

/// Splits the source into tokens; the last one is kEnd. Raw and byte strings are not supported.
base::Result<std::vector<Token>> tokens_of(std::string_view source);

}  // namespace simulator::cel
