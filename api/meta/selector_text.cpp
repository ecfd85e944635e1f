#include "api/meta/selector_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/meta/names.hpp"

namespace api {
namespace {

constexpr std::string_view kSelectorBlanks = " \t\r\n";
constexpr std::string_view kSelectorMarks = "=!(),<>";

/// Tokenizer: words and marks; "" at the end.
class SelectorTokens {
 public:
  explicit SelectorTokens(std::string_view text) : rest_(text) { advance(); }
  std::string_view peek() const { return token_; }
  std::string_view take() {
    const std::string_view token = token_;
    advance();
    return token;
  }
  bool take_if(std::string_view token) {
    if (token_ != token) return false;
    advance();
    return true;
  }
  bool at_word() const { return !token_.empty() && kSelectorMarks.find(token_.front()) == std::string_view::npos; }
  bool at_end() const { return token_.empty(); }

 private:
  void advance() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kSelectorBlanks), rest_.size()));
    std::size_t length = 0;
    if (rest_.starts_with("==") || rest_.starts_with("!=")) {
      length = 2;
    } else if (!rest_.empty() && kSelectorMarks.find(rest_.front()) != std::string_view::npos) {
      length = 1;
    } else {
      length = std::min(rest_.find_first_of("=!(),<> \t\r\n"), rest_.size());
    }
    token_ = rest_.substr(0, length);
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  std::string_view token_;
};

base::Error unexpected(std::string_view wanted, std::string_view found) {
  if (found.empty()) return base::invalid(fmt::format("{} is missing at the end", wanted));
  return base::invalid(fmt::format("{} is missing before \"{}\"", wanted, found.substr(0, 80)));
}

/// Reads "(a, b)". A missing item is the empty value.
base::Result<std::vector<std::string>> read_values(SelectorTokens& tokens) {
  if (!tokens.take_if("(")) return unexpected("\"(\"", tokens.peek());
  std::vector<std::string> values(1);
  while (!tokens.take_if(")")) {
    if (tokens.take_if(",")) {
      values.emplace_back();
    } else if (tokens.at_word() && values.back().empty()) {
      values.back() = tokens.take();
    } else {
      return unexpected("\")\"", tokens.peek());
    }
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Reads the operator and its values after the key, if any.
base::Status read_condition(SelectorTokens& tokens, SelectorRequirement& requirement) {
  const std::string_view op = tokens.peek();
  if (op.empty() || op == ",") return base::Done{};
  tokens.take();
  if (op == "<" || op == ">") {
    requirement.op = op == ">" ? SelectorOperator::kGt : SelectorOperator::kLt;
    requirement.values = {std::string(tokens.at_word() ? tokens.take() : std::string_view())};
    if (requirement.is_well_formed()) return base::Done{};
    return base::invalid(fmt::format("\"{}\" is followed by \"{}\", which is not a whole number", op,
                                     requirement.values.front().substr(0, 80)));
  }
  if (op == "in" || op == "notin") {
    requirement.op = op == "in" ? SelectorOperator::kIn : SelectorOperator::kNotIn;
    auto values = read_values(tokens);
    if (!values) return values.error();
    requirement.values = *std::move(values);
    return base::Done{};
  }
  if (op != "=" && op != "==" && op != "!=") return unexpected("an operator", op);
  requirement.op = op == "!=" ? SelectorOperator::kNotIn : SelectorOperator::kIn;
  requirement.values = {tokens.at_word() ? std::string(tokens.take()) : std::string()};
  return base::Done{};
}

base::Result<SelectorRequirement> read_requirement_text(SelectorTokens& tokens) {
  SelectorRequirement requirement;
  const bool negated = tokens.take_if("!");
  if (!tokens.at_word()) return unexpected("a label key", tokens.peek());
  requirement.key = tokens.take();
  if (!is_qualified_name(requirement.key))
    return base::invalid(fmt::format("\"{}\" is not a label key", requirement.key.substr(0, 80)));
  if (negated) {
    requirement.op = SelectorOperator::kDoesNotExist;
    return requirement;
  }
  if (const auto done = read_condition(tokens, requirement); !done) return done.error();
  for (const std::string& value : requirement.values) {
    if (!is_label_value(value)) return base::invalid(fmt::format("\"{}\" is not a label value", value.substr(0, 80)));
  }
  return requirement;
}

/// Puts key=value requirements first, sorted by key, as in matchLabels.
void put_match_labels_first(std::vector<SelectorRequirement>& requirements) {
  const auto is_plain = [](const SelectorRequirement& each) {
    return each.op == SelectorOperator::kIn && each.values.size() == 1;
  };
  const auto others = std::stable_partition(requirements.begin(), requirements.end(), is_plain);
  std::stable_sort(requirements.begin(), others, [](const auto& a, const auto& b) { return a.key < b.key; });
}

}  // namespace

base::Result<LabelSelector> parse_selector_text(std::string_view text) {
  SelectorTokens tokens(text);
  LabelSelector selector;
  while (!tokens.at_end()) {
    auto requirement = read_requirement_text(tokens);
    if (!requirement) return requirement.error();
    selector.requirements.push_back(*std::move(requirement));
    if (tokens.at_end()) break;
    if (!tokens.take_if(",")) return unexpected("\",\"", tokens.peek());
    if (tokens.at_end()) return base::invalid("nothing follows the last comma");
  }
  put_match_labels_first(selector.requirements);
  return selector;
}

}  // namespace api
