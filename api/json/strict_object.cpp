#include "api/json/strict_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/meta/names.hpp"

namespace api {
namespace {

constexpr std::size_t kMaxNearMiss = 2;
constexpr std::size_t kMaxGuess = 64;  // hostile keys are not compared
constexpr std::size_t kMaxQuote = 80;
constexpr double kExactDoubles = 9007199254740992.0;  // 2^53

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

/// Quotes and truncates user text for an error message.
std::string quote_text(std::string_view text) {
  if (text.size() <= kMaxQuote) return fmt::format("\"{}\"", text);
  std::size_t end = kMaxQuote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return fmt::format("\"{}…\"", text.substr(0, end));
}

const Json& empty_object() {
  static const Json kEmpty = Json::object();
  return kEmpty;
}

/// Returns the number if it is an integer in the range of int64.
std::optional<std::int64_t> whole_number(const Json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<std::uint64_t>();
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return static_cast<std::int64_t>(value);
  }
  if (json.is_number_integer()) return json.get<std::int64_t>();
  const double value = json.get<double>();
  if (std::abs(value) > kExactDoubles || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

std::string_view kind_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::object: return "an object";
    case Json::value_t::array: return "a list";
    case Json::value_t::string: return "a string";
    case Json::value_t::boolean: return "a boolean";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float: return "a number";
    case Json::value_t::binary:
    case Json::value_t::discarded: break;
  }
  return "something else";
}

std::string join_alternatives(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> candidates) {
  if (text.size() > kMaxGuess) return {};
  std::string_view best;
  std::size_t least = kMaxNearMiss + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = same_ignoring_case(text, candidate) ? 0 : edit_distance(text, candidate);
    if (distance >= least || distance * 3 > candidate.size()) continue;
    least = distance;
    best = candidate;
  }
  return best.empty() ? std::string() : fmt::format(", did you mean \"{}\"?", best);
}

StrictObject::StrictObject(const Json& json, FieldPath path, FieldErrors& errors)
    : json_(json.is_object() ? json : empty_object()), path_(std::move(path)), errors_(errors) {
  if (!json.is_object()) errors_.push_back({path_.text(), fmt::format("must be an object, not {}", kind_of(json))});
}

const Json* StrictObject::find(std::string_view name) {
  if (std::ranges::find(asked_, name) == asked_.end()) asked_.push_back(name);
  const auto at = json_.find(name);
  return at == json_.end() || at->is_null() ? nullptr : &*at;
}

void StrictObject::complain(std::string_view name, std::string message) {
  errors_.push_back({path_.field(name).text(), std::move(message)});
}

void StrictObject::complain_none_of(std::string_view name, std::string_view text,
                                    std::span<const std::string_view> valid) {
  complain(name,
           fmt::format("{} is not one of {}{}", quote_text(text), join_alternatives(valid), did_you_mean(text, valid)));
}

void StrictObject::read(std::string_view name, bool& target) {
  const Json* member = find(name);
  if (member == nullptr) return;
  if (!member->is_boolean()) return complain(name, fmt::format("must be true or false, not {}", kind_of(*member)));
  target = member->get<bool>();
}

void StrictObject::read(std::string_view name, double& target) {
  const Json* member = find(name);
  if (member == nullptr) return;
  const bool is_number = member->is_number() && std::isfinite(member->get<double>());
  if (!is_number) return complain(name, fmt::format("must be a number, not {}", kind_of(*member)));
  target = member->get<double>();
}

void StrictObject::read(std::string_view name, std::vector<std::pair<std::string, std::string>>& target) {
  const Json* member = find(name);
  if (member == nullptr) return;
  if (!member->is_object()) return complain(name, fmt::format("must be an object, not {}", kind_of(*member)));
  target.clear();
  for (const auto& [key, value] : member->items()) {
    if (value.is_string()) {
      target.emplace_back(key, value.get<std::string>());
    } else {
      errors_.push_back({path_.field(name).key(key).text(), fmt::format("must be a string, not {}", kind_of(value))});
    }
  }
}

bool StrictObject::read_text(std::string_view name, std::string& target) {
  const Json* member = find(name);
  if (member == nullptr) return false;
  if (!member->is_string()) {
    complain(name, fmt::format("must be a string, not {}", kind_of(*member)));
    return false;
  }
  target = member->get_ref<const std::string&>();
  return true;
}

void StrictObject::read(std::string_view name, std::string& target) { read_text(name, target); }

bool StrictObject::read_integer(std::string_view name, std::int64_t least, std::int64_t most, std::int64_t& target) {
  const Json* member = find(name);
  if (member == nullptr) return false;
  if (!member->is_number()) {
    complain(name, fmt::format("must be a whole number, not {}", kind_of(*member)));
    return false;
  }
  const auto value = whole_number(*member);
  if (!value || *value < least || *value > most) {
    complain(name, fmt::format("{} is not a whole number from {} to {}", to_json_text(*member), least, most));
    return false;
  }
  target = *value;
  return true;
}

void StrictObject::read(std::string_view name, std::int32_t& target) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::int64_t value = 0;
  if (read_integer(name, Limits::min(), Limits::max(), value)) target = static_cast<std::int32_t>(value);
}

void StrictObject::read(std::string_view name, std::uint32_t& target) {
  std::int64_t value = 0;
  if (read_integer(name, 0, std::numeric_limits<std::uint32_t>::max(), value))
    target = static_cast<std::uint32_t>(value);
}

void StrictObject::read(std::string_view name, std::int64_t& target) {
  using Limits = std::numeric_limits<std::int64_t>;
  read_integer(name, Limits::min(), Limits::max(), target);
}

void StrictObject::read(std::string_view name, base::seconds& target) {
  using Limits = std::numeric_limits<std::int32_t>;
  std::int64_t value = 0;
  if (read_integer(name, Limits::min(), Limits::max(), value)) target = base::seconds(value);
}

void StrictObject::read(std::string_view name, std::vector<std::string>& target) {
  std::vector<std::string> texts;
  for_each(name, [&](const Json& item, const FieldPath& path) {
    if (item.is_string()) return texts.push_back(item.get<std::string>());
    errors_.push_back({path.text(), fmt::format("must be a string, not {}", kind_of(item))});
  });
  if (find(name) != nullptr) target = std::move(texts);
}

void StrictObject::read_duration(std::string_view name, base::Duration& target) {
  std::string text;
  if (!read_text(name, text)) return;
  if (const auto value = base::parse_duration(text)) {
    target = *value;
  } else {
    complain(name, fmt::format("{} is not a duration such as \"90s\", \"5m\" or \"1h30m\"", quote_text(text)));
  }
}

void StrictObject::read_duration(std::string_view name, std::optional<base::Duration>& target) {
  base::Duration value{};
  const std::size_t before = errors_.size();
  if (find(name) == nullptr) return;
  read_duration(name, value);
  if (errors_.size() == before) target = value;
}

void StrictObject::for_each(std::string_view name,
                            const std::function<void(const Json& item, const FieldPath& path)>& each) {
  const Json* member = find(name);
  if (member == nullptr) return;
  if (!member->is_array()) return complain(name, fmt::format("must be a list, not {}", kind_of(*member)));
  const FieldPath list = path_.field(name);
  for (std::size_t i = 0; i < member->size(); ++i) each((*member)[i], list.index(i));
}

void StrictObject::with(std::string_view name, const std::function<void(StrictObject& object)>& inside) {
  const Json* member = find(name);
  if (member == nullptr) return;
  StrictObject object(*member, path_.field(name), errors_);
  inside(object);
  object.finish();
}

void StrictObject::not_supported_yet(std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    // Not marked as known, so that "did you mean" never suggests it.
    const auto at = json_.find(name);
    if (at != json_.end() && !at->is_null()) complain(name, "not supported yet");
    refused_.push_back(name);
  }
}

std::string StrictObject::advice_for(std::string_view unknown) const { return did_you_mean(unknown, asked_); }

void StrictObject::finish() {
  for (const auto& [name, value] : json_.items()) {
    if (std::ranges::find(asked_, name) != asked_.end() || std::ranges::find(refused_, name) != refused_.end())
      continue;
    complain(name.substr(0, kMaxQuote), "unknown field" + advice_for(name));
  }
}

}  // namespace api
