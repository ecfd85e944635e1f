#include "cmd/session/io.hpp"

#include <algorithm>
#include <array>

#include "api/json/strict_object.hpp"

namespace cmd::plugin {
namespace {

constexpr std::string_view kPlainAgain = "\033[0m";

constexpr std::array kEscapes = {api::WireName{Tone::kPlain, ""},       api::WireName{Tone::kGood, "\033[32m"},
                                 api::WireName{Tone::kBad, "\033[31m"}, api::WireName{Tone::kWaiting, "\033[33m"},
                                 api::WireName{Tone::kDim, "\033[2m"},  api::WireName{Tone::kStrong, "\033[1m"}};

}  // namespace

std::string variable_of(const kube::Environment& environment, const std::string& name) {
  const auto at = environment.find(name);
  return at == environment.end() ? std::string() : at->second;
}

std::string paint(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(api::name_of(kEscapes, tone)) + std::string(text) + std::string(kPlainAgain);
}

std::string clip(std::string_view line, std::size_t columns) {
  std::string kept;
  std::size_t used = 0;
  bool coloured = false;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\033') {
      const auto end = std::min(line.find('m', at), line.size() - 1) + 1;
      kept += line.substr(at, end - at);
      coloured = line.substr(at, end - at) != kPlainAgain;
      at = end;
      continue;
    }
    std::size_t end = at + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xC0) == 0x80) ++end;
    if (++used > columns) break;
    kept += line.substr(at, end - at);
    at = end;
  }
  if (coloured) kept += kPlainAgain;
  return kept;
}

}  // namespace cmd::plugin
