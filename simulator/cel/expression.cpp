#include "simulator/cel/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace simulator::cel {
namespace {

enum class TokenKind { kName, kInteger, kReal, kString, kOperator, kEnd };

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text{};  ///< unescaped, if it is a string
  std::size_t at = 0;  ///< offset of the first byte in the source
};

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

/// Splits a source into tokens; the last one is kEnd. Raw and byte strings are not supported.
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

constexpr int kMaxDepth = 60;
constexpr int kMaxOperators = 500;  // each operator of a chain adds one level of recursion

/// Reserved words, which are not names in CEL. Fields with such names are escaped with underscores (__namespace__); our
/// rules do not use them.
constexpr std::array<std::string_view, 17> kReserved = {"as",        "break",  "const",  "continue", "else", "for",
                                                        "function",  "if",     "import", "let",      "loop", "package",
                                                        "namespace", "return", "var",    "void",     "while"};
constexpr std::array<std::string_view, 5> kMacros = {"all", "exists", "exists_one", "filter", "map"};

/// Operators by precedence, lowest first.
constexpr std::array<std::array<std::string_view, 7>, 5> kLevels = {{
    {"||"},
    {"&&"},
    {"<", "<=", ">=", ">", "==", "!=", "in"},
    {"+", "-"},
    {"*", "/", "%"},
}};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view text) {
  return std::ranges::find(list, text) != list.end();
}

/// Recursive-descent parser. The first error is stored in error_; results after an error are meaningless.
class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  base::Result<Expression> run() {
    Expression whole = choice();
    if (!error_ && peek().kind != TokenKind::kEnd) fail("unexpected " + peek().text);
    if (error_) return *std::move(error_);
    return whole;
  }

 private:
  const Token& peek() const { return tokens_[at_]; }
  bool is_next(std::string_view text) const {
    const bool is_word = peek().kind == TokenKind::kName || peek().kind == TokenKind::kOperator;
    return is_word && peek().text == text;
  }
  bool take(std::string_view text) {
    if (error_ || !is_next(text)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!take(text)) fail(fmt::format("expected {}, not {}", text, peek().text));
  }
  Expression fail(std::string message) {
    if (!error_) error_ = base::invalid(fmt::format("at {}: {}", peek().at, message));
    at_ = tokens_.size() - 1;
    return {};
  }

  Expression choice() {
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    Expression left = binary(0);
    if (take("?")) {
      Expression yes = binary(0);
      expect(":");
      Expression no = choice();
      left = {.kind = Kind::kChoice, .operands = {std::move(left), std::move(yes), std::move(no)}};
    }
    --depth_;
    return left;
  }

  Expression binary(std::size_t level) {
    if (level == kLevels.size()) return unary();
    Expression left = binary(level + 1);
    while (!error_ && !peek().text.empty() && peek().kind != TokenKind::kString &&
           contains(kLevels[level], peek().text)) {
      std::string op = peek().text;
      ++at_;
      if (++operators_ > kMaxOperators) return fail("too many operators");
      Expression right = binary(level + 1);
      left = {.kind = Kind::kBinary, .text = std::move(op), .operands = {std::move(left), std::move(right)}};
    }
    return left;
  }

  Expression unary() {
    const bool is_not = is_next("!");
    if (!is_not && !is_next("-")) return postfix(primary());
    ++at_;
    if (++depth_ > kMaxDepth) return fail("nested too deeply");
    Expression operand = unary();
    --depth_;
    return {.kind = is_not ? Kind::kNot : Kind::kNegative, .operands = {std::move(operand)}};
  }

  Expression postfix(Expression base) {
    while (!error_) {
      if (take(".")) {
        base = member(std::move(base));
      } else if (take("[")) {
        Expression key = choice();
        expect("]");
        base = {.kind = Kind::kIndex, .operands = {std::move(base), std::move(key)}};
      } else {
        break;
      }
    }
    return base;
  }

  std::string name() {
    if (peek().kind != TokenKind::kName || contains(kReserved, peek().text)) {
      fail(fmt::format("expected a name, not {}", peek().text));
      return {};
    }
    return tokens_[at_++].text;
  }

  Expression member(Expression base) {
    std::string text = name();
    if (!take("(")) return {.kind = Kind::kMember, .text = std::move(text), .operands = {std::move(base)}};
    std::vector<Expression> operands;
    operands.push_back(std::move(base));
    for (Expression& each : until(")")) operands.push_back(std::move(each));
    Expression call{.kind = Kind::kMethod, .text = std::move(text), .operands = std::move(operands)};
    const bool is_macro = contains(kMacros, call.text) && call.operands.size() == 3;
    if (!is_macro) return call;
    if (call.operands[1].kind != Kind::kName) return fail(call.text + "() wants a variable first");
    call.kind = Kind::kMacro;
    call.variable = call.operands[1].text;
    call.operands.erase(call.operands.begin() + 1);
    return call;
  }

  std::vector<Expression> until(std::string_view end) {
    std::vector<Expression> all;
    while (!error_ && !take(end)) {
      all.push_back(choice());
      if (!is_next(end)) expect(",");
    }
    return all;
  }

  Expression map() {
    Expression made{.kind = Kind::kMap};
    while (!error_ && !take("}")) {
      made.operands.push_back(choice());
      expect(":");
      made.operands.push_back(choice());
      if (!is_next("}")) expect(",");
    }
    return made;
  }

  Expression primary() {
    if (take("(")) {
      Expression inner = choice();
      expect(")");
      return inner;
    }
    if (take("[")) return {.kind = Kind::kList, .operands = until("]")};
    if (take("{")) return map();
    if (peek().kind == TokenKind::kName) return word();
    return literal();
  }

  Expression word() {
    if (take("true")) return {.value = true};
    if (take("false")) return {.value = false};
    if (take("null")) return {.value = nullptr};
    std::string text = name();
    if (!take("(")) return {.kind = Kind::kName, .text = std::move(text)};
    Expression call{.kind = Kind::kCall, .text = std::move(text), .operands = until(")")};
    if (call.text != "has") return call;
    if (call.operands.size() != 1 || call.operands[0].kind != Kind::kMember) return fail("has() wants a member");
    Expression has = std::move(call.operands[0]);
    has.kind = Kind::kHas;
    return has;
  }

  Expression literal() {
    const Token token = peek();
    const char* end = token.text.data() + token.text.size();
    if (token.kind == TokenKind::kString) {
      ++at_;
      return {.value = token.text};
    }
    std::int64_t whole = 0;
    if (token.kind == TokenKind::kInteger && std::from_chars(token.text.data(), end, whole).ec == std::errc()) {
      ++at_;
      return {.value = whole};
    }
    double real = 0;
    if (token.kind == TokenKind::kReal && std::from_chars(token.text.data(), end, real).ec == std::errc()) {
      ++at_;
      return {.value = real};
    }
    return fail("unexpected " + token.text);
  }

  std::vector<Token> tokens_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int operators_ = 0;
  std::optional<base::Error> error_;
};

}  // namespace

base::Result<Expression> parse(std::string_view text) {
  auto tokens = Lexer(text).run();
  if (!tokens) return std::move(tokens).error();
  return Parser(*std::move(tokens)).run();
}

bool reads(const Expression& expression, std::string_view name) {
  if (expression.kind == Kind::kName && expression.text == name) return true;
  const bool is_hidden = expression.kind == Kind::kMacro && expression.variable == name;
  for (std::size_t i = 0; i < expression.operands.size(); ++i) {
    if (is_hidden && i > 0) continue;
    if (reads(expression.operands[i], name)) return true;
  }
  return false;
}

}  // namespace simulator::cel
