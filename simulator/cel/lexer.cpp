#include "simulator/cel/lexer.hpp"

#include <fmt/format.h>

#include <array>
#include <optional>

namespace simulator::cel {
namespace {

constexpr std::array<std::string_view, 24> kOperators = {"&&", "||", "==", "!=", "<=", ">=", "<", ">",
                                                         "+",  "-",  "*",  "/",  "%",  "!",  "?", ":",
                                                         ".",  ",",  "(",  ")",  "[",  "]",  "{", "}"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::optional<char> unescaped(char c) {
  switch (c) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case '\\':
    case '\'':
    case '"': return c;
    default: return std::nullopt;
  }
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  base::Result<std::vector<Token>> run() {
    std::vector<Token> tokens;
    for (skip_space(); at_ < source_.size(); skip_space()) {
      auto token = next();
      if (!token) return std::move(token).error();
      tokens.push_back(*std::move(token));
    }
    tokens.push_back({TokenKind::kEnd, "the end", at_});
    return tokens;
  }

 private:
  void skip_space() {
    while (at_ < source_.size() && is_space(source_[at_])) ++at_;
  }

  base::Result<Token> next() {
    const char c = source_[at_];
    if (is_letter(c)) return word();
    if (is_digit(c)) return number();
    if (c == '\'' || c == '"') return quoted(c);
    for (const std::string_view each : kOperators) {
      if (!source_.substr(at_).starts_with(each)) continue;
      at_ += each.size();
      return Token{TokenKind::kOperator, std::string(each), at_ - each.size()};
    }
    return base::invalid(fmt::format("at {}: unknown character", at_));
  }

  Token word() {
    const std::size_t from = at_;
    while (at_ < source_.size() && (is_letter(source_[at_]) || is_digit(source_[at_]))) ++at_;
    return {TokenKind::kName, std::string(source_.substr(from, at_ - from)), from};
  }

  Token number() {
    const std::size_t from = at_;
    const auto digits = [&] {
      while (at_ < source_.size() && is_digit(source_[at_])) ++at_;
    };
    digits();
    const bool is_real = at_ + 1 < source_.size() && source_[at_] == '.' && is_digit(source_[at_ + 1]);
    if (is_real) {
      ++at_;
      digits();
    }
    return {is_real ? TokenKind::kReal : TokenKind::kInteger, std::string(source_.substr(from, at_ - from)), from};
  }

  base::Result<Token> quoted(char quote) {
    Token token{TokenKind::kString, "", at_++};
    for (; at_ < source_.size() && source_[at_] != quote; ++at_) {
      if (source_[at_] != '\\') {
        token.text += source_[at_];
        continue;
      }
      const auto meant = at_ + 1 < source_.size() ? unescaped(source_[at_ + 1]) : std::nullopt;
      if (!meant) return base::invalid(fmt::format("at {}: unknown escape", at_));
      token.text += *meant;
      ++at_;
    }
    if (at_ == source_.size()) return base::invalid(fmt::format("at {}: a string without an end", token.at));
    ++at_;
    return token;
  }

  std::string_view source_;
  std::size_t at_ = 0;
};

}  // namespace

base::Result<std::vector<Token>> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace simulator::cel
