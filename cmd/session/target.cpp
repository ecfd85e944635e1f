#include "cmd/session/target.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <optional>

namespace cmd::plugin {
namespace {

struct KindWord {
  std::string_view word;
  TargetKind kind;
};

constexpr std::array kKindWords = {
    KindWord{"pod", TargetKind::kPod},
    KindWord{"pods", TargetKind::kPod},
    KindWord{"po", TargetKind::kPod},
    KindWord{"node", TargetKind::kNode},
    KindWord{"nodes", TargetKind::kNode},
    KindWord{"no", TargetKind::kNode},
    KindWord{"policy", TargetKind::kPolicy},
    KindWord{"deschedulerpolicy", TargetKind::kPolicy},
    KindWord{"deschedulerpolicies", TargetKind::kPolicy},
    KindWord{"deschedulerpolicy.evacuator.dev", TargetKind::kPolicy},
    KindWord{"deschedulerpolicies.evacuator.dev", TargetKind::kPolicy},
    KindWord{"dsp", TargetKind::kPolicy},
    KindWord{"evacuation", TargetKind::kEvacuation},
    KindWord{"evacuations", TargetKind::kEvacuation},
    KindWord{"evacuation.evacuator.dev", TargetKind::kEvacuation},
    KindWord{"evacuations.evacuator.dev", TargetKind::kEvacuation},
    KindWord{"evac", TargetKind::kEvacuation},
};

std::optional<TargetKind> kind_named(std::string_view word) {
  for (const KindWord& each : kKindWords) {
    if (each.word == word) return each.kind;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(TargetKind kind) {
  switch (kind) {
    case TargetKind::kPod: return "pod";
    case TargetKind::kNode: return "node";
    case TargetKind::kPolicy: return "policy";
    case TargetKind::kEvacuation: return "evacuation";
  }
  std::abort();
}

base::Result<Target> parse_target(std::string_view text, TargetKind otherwise) {
  const auto slash = text.find('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (name.empty() || name.find('/') != std::string_view::npos) {
    return base::invalid(
        fmt::format("\"{}\" has no name: use {}/NAME (and the namespace with -n)", text, to_string(otherwise)));
  }
  if (slash == std::string_view::npos) return Target{otherwise, std::string(name)};
  const auto kind = kind_named(text.substr(0, slash));
  if (!kind) {
    return base::invalid(
        fmt::format("\"{}\": {} is not supported; use pod/, node/, policy/ or evac/", text, text.substr(0, slash)));
  }
  return Target{*kind, std::string(name)};
}

}  // namespace cmd::plugin
