#include "cmd/session/io.hpp"

#include <cstdlib>

namespace cmd::plugin {
namespace {

constexpr std::string_view kPlainAgain = "\033[0m";

std::string_view escape_of(Tone tone) {
  switch (tone) {
    case Tone::kPlain: return "";
    case Tone::kGood: return "\033[32m";
    case Tone::kBad: return "\033[31m";
    case Tone::kWaiting: return "\033[33m";
    case Tone::kDim: return "\033[2m";
    case Tone::kStrong: return "\033[1m";
  }
  std::abort();
}

}  // namespace

std::string paint(std::string_view text, Tone tone, bool colour) {
  if (!colour || tone == Tone::kPlain || text.empty()) return std::string(text);
  return std::string(escape_of(tone)) + std::string(text) + std::string(kPlainAgain);
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
