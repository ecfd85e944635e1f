#include "controllers/evacuation/missing_rights.hpp"

#include <fmt/format.h>

#include "kube/classify.hpp"

namespace controllers::evacuation {
namespace {

/// Limit of tracked rights, above the number refused in practice. The table is cleared when full.
constexpr std::size_t kMaxRights = 2000;

/// Returns the request without the object name, since rights are granted per kind. A GET keeps the name: one reconcile
/// reads several objects of a kind, and a role may allow only some names.
std::string right_of(const kube::Request& request) {
  const std::string name = request.method == "GET" ? std::string() : kube::object_named_by(request);
  const auto at = name.empty() ? std::string::npos : request.path.rfind("/" + name);
  if (at == std::string::npos) return fmt::format("{} {}", request.method, request.path);
  const std::string_view path = request.path;
  return fmt::format("{} {}*{}", request.method, path.substr(0, at + 1), path.substr(at + 1 + name.size()));
}

}  // namespace

bool MissingRights::refused(const kube::Request& request, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (refusals_.size() >= kMaxRights) refusals_.clear();
  const auto [known, is_new] = refusals_.try_emplace(right_of(request), Refusals{now, now});
  Refusals& seen = known->second;
  if (now - seen.last > kForgottenAfter) seen.first = now;
  seen.last = now;
  return now - seen.first < kServerStart;
}

void MissingRights::answered(const kube::Request& request) {
  const std::scoped_lock lock(mutex_);
  if (!refusals_.empty()) refusals_.erase(right_of(request));
}

}  // namespace controllers::evacuation
