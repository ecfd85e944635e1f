#include "test/conformance/deviations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "api/json/yaml.hpp"

namespace conformance {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxDeviations = 12;

base::Result<Deviation> deviation_of(const json& item, const std::string& root) {
  Deviation deviation;
  const json when = item.value("when", json::object());
  deviation.name = item.value("name", "");
  deviation.arg = when.value("arg", "");
  deviation.none_of = when.value("noneOf", std::vector<std::string>{});
  deviation.reason = item.value("reason", "");
  if (deviation.name.empty() || deviation.arg.empty() || deviation.reason.empty()) {
    return base::invalid(fmt::format("needs name, when.arg and reason: {}", item.dump()));
  }
  if (!std::filesystem::is_regular_file(std::filesystem::path(root) / item.value("doc", "-"))) {
    return base::invalid(fmt::format("{}: doc names no page", deviation.name));
  }
  return deviation;
}

bool asks_for_nothing(const json& value) { return value.is_null() || (value.is_array() && value.empty()); }

}  // namespace

bool Deviation::applies(const json& args) const {
  const json::json_pointer pointer(arg);
  if (!args.contains(pointer) || asks_for_nothing(args.at(pointer))) return false;
  if (none_of.empty()) return true;
  const json& list = args.at(pointer);
  return std::ranges::any_of(list, [&](const json& value) {
    return !value.is_string() || std::ranges::find(none_of, value.get<std::string>()) == none_of.end();
  });
}

base::Result<std::vector<Deviation>> read_deviations(const std::string& path, const std::string& root) {
  std::ifstream in(path);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto documents = api::parse_yaml(text);
  if (!documents) return documents.error().during(path);
  if (documents->size() != 1 || !documents->front().contains("deviations")) {
    return base::invalid(path + ": must be one document with deviations");
  }
  std::vector<Deviation> deviations;
  for (const json& item : documents->front().at("deviations")) {
    auto deviation = deviation_of(item, root);
    if (!deviation) return deviation.error().during(path);
    deviations.push_back(*std::move(deviation));
  }
  if (deviations.size() > kMaxDeviations) {
    return base::invalid(fmt::format("{}: {} rules, at most {} are to be", path, deviations.size(), kMaxDeviations));
  }
  return deviations;
}

}  // namespace conformance
