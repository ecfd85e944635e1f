#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace simulator::cel {

enum class TokenKind { kName, kInteger, kReal, kString, kOperator, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text{};  ///< of a string: unescaped
  std::size_t at = 0;  ///< first byte in the source
};

/// Ends with a token kEnd. Raw and byte strings are not read.
base::Result<std::vector<Token>> tokens_of(std::string_view source);

}  // namespace simulator::cel
