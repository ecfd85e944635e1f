#include "cmd/session/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace cmd::plugin {
namespace {

struct KindWord {
  std::string_view word;
  TargetKind kind;
};

/// The first word of a kind is its name.
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

}  // namespace

std::string_view to_string(TargetKind kind) { return std::ranges::find(kKindWords, kind, &KindWord::kind)->word; }

base::Result<Target> parse_target(std::string_view text, TargetKind otherwise) {
  const auto slash = text.find('/');
  const std::string_view name = slash == std::string_view::npos ? text : text.substr(slash + 1);
  if (name.empty() || name.find('/') != std::string_view::npos) {
    return base::invalid(
        fmt::format("\"{}\" has no name: use {}/NAME (and the namespace with -n)", text, to_string(otherwise)));
  }
  if (slash == std::string_view::npos) return Target{otherwise, std::string(name)};
  const auto known = std::ranges::find(kKindWords, text.substr(0, slash), &KindWord::word);
  if (known == kKindWords.end()) {
    return base::invalid(
        fmt::format("\"{}\": {} is not supported; use pod/, node/, policy/ or evac/", text, text.substr(0, slash)));
  }
  return Target{known->kind, std::string(name)};
}

}  // namespace cmd::plugin
