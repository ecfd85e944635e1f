#include "controllers/evacuation/memory/missing_rights.hpp"

#include "kube/classify.hpp"

namespace controllers::evacuation {
namespace {

/// More rights are not refused at once in practice; beyond that the memory starts anew.
constexpr std::size_t kMostRights = 2000;

/// The request without the name of its object: rights are given for kinds. A GET keeps the name: one look reads several
/// objects of a kind, and a role may name those that it allows.
std::string right_of(const kube::Request& request) {
  std::string right = request.method + " " + request.path;
  if (request.method == "GET") return right;
  const std::string name = kube::object_named_by(request);
  if (const auto at = name.empty() ? std::string::npos : right.rfind("/" + name); at != std::string::npos)
    right.replace(at + 1, name.size(), "*");
  return right;
}

}  // namespace

bool MissingRights::refused(const kube::Request& request, base::TimePoint now) {
  const std::scoped_lock lock(mutex_);
  if (refusals_.size() >= kMostRights) refusals_.clear();
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
