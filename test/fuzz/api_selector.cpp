/// Any text as a label selector in kubectl's syntax (first byte even) or as JSON (odd): no crash, an accepted selector
/// is well formed and round-trips, and errors stay short.

#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "api/core/selector_codec.hpp"
#include "api/meta/selector_text.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

/// Returns nullopt if there are errors or no selector.
std::optional<api::LabelSelector> read(const api::Json& selector) {
  const api::Json object = {{"selector", selector}};
  api::FieldErrors errors;
  api::StrictObject root(object, api::FieldPath(), errors);
  std::optional<api::LabelSelector> found;
  api::read_label_selector(root, "selector", found, /*of_nodes=*/true);
  root.finish();
  return errors.empty() ? found : std::nullopt;
}

void check_text(std::string_view text) {
  const auto selector = api::parse_selector_text(text);
  if (!selector) return require(!selector.error().message.empty() && selector.error().message.size() < 300);
  for (const auto& requirement : selector->requirements) require(requirement.is_well_formed());
  require(read(api::encode_label_selector(*selector)) == *selector);
  static_cast<void>(selector->matches({{"app", "web"}, {"tier", ""}}));
}

void check_json(std::string_view text) {
  const auto json = api::parse_json(text);
  const auto selector = json ? read(*json) : std::nullopt;
  if (!selector) return;
  for (const auto& requirement : selector->requirements) require(requirement.is_well_formed());
  require(read(api::encode_label_selector(*selector)) == *selector);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    check_text(text);
  } else {
    check_json(text);
  }
  return 0;
}
