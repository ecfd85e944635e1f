#include "simulator/journal.hpp"

#include "simulator/pod_facts.hpp"

namespace simulator {

void Journal::follow_others(std::vector<kube::ResourceType> types, Handler handler) {
  rest_types_ = std::move(types);
  rest_ = std::move(handler);
}

bool Journal::poll() {
  if (store_.revision() == seen_) return false;
  const auto changes = store_.changes_since(seen_);
  if (!changes) {
    replay_all();
    return true;
  }
  for (const Change& change : *changes) {
    seen_ = change.revision;  // set first, so that a change whose handler throws is not delivered again
    tell(change);
  }
  return !changes->empty();
}

void Journal::tell(const Change& change) const {
  for (const auto& [type, handler] : handlers_) {
    if (type.plural == change.plural && type.group == change.group) return handler(change);
  }
  if (rest_) rest_(change);
}

/// Replays all objects. The revision is read first, so that a concurrent change is delivered twice rather than missed.
void Journal::replay_all() {
  if (reset_) reset_();
  seen_ = store_.revision();
  for (const auto& [type, handler] : handlers_) notify_all(type, handler);
  for (const auto& type : rest_types_) notify_all(type, rest_);
}

void Journal::notify_all(const kube::ResourceType& type, const Handler& handler) const {
  for (const Object& object : store_.list(type)) {
    handler({seen_, ChangeKind::kAdded, std::string(type.group), std::string(type.plural), key_of(*object), object,
             nullptr});
  }
}

}  // namespace simulator
