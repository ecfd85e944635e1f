#include "test/fakes/kubevirt/client_port.hpp"

#include <cstdlib>
#include <memory>

#include <nlohmann/json.hpp>

namespace fake_kubevirt {
namespace {

using api::Json;
using simulator::Object;
using simulator::kubevirt::Step;

Object object_of(const kube::ResourceType& type, std::string_view text) {
  Json object = Json::parse(text, nullptr, false);
  if (!object.is_object()) return nullptr;
  object["apiVersion"] = type.api_version();  // Items of a list have no apiVersion and kind
  object["kind"] = type.kind;
  return std::make_shared<const Json>(std::move(object));
}

base::Status done_or_error(base::Result<std::string> answer) {
  if (!answer) return std::move(answer).error();
  return base::Done{};
}

}  // namespace

base::Result<Object> ClientPort::get(const kube::ResourceType& type, const api::ObjectKey& key) const {
  const auto text = client_.get(type, key);
  if (!text) return text.error();
  Object object = object_of(type, *text);
  if (!object) return base::invalid("the API server's answer is no object");
  return object;
}

base::Result<std::vector<Object>> ClientPort::list(const kube::ResourceType& type) const {
  std::vector<Object> found;
  const auto listed = client_.list(type, {}, [&](std::string_view item) -> base::Status {
    if (Object object = object_of(type, item)) found.push_back(std::move(object));
    return base::Done{};
  });
  if (!listed && !base::is_not_found(listed.error())) return listed.error();
  return found;
}

/// The UID in the body restricts the patch to that object: the API server refuses to change a UID.
base::Status ClientPort::merge(const Step& step, Json body, std::string_view subresource) {
  if (!step.uid.empty()) body["metadata"]["uid"] = step.uid;
  return done_or_error(client_.patch(step.type, step.key, kube::PatchType::kMerge, body, subresource));
}

/// A real kubelet accepts a phase written by another client only when it syncs the pod again. Until then it restores
/// its own. Changing an annotation triggers the sync. Each call changes it again, because the kubelet may have restored
/// the phase just before.
base::Status ClientPort::end_pod(const Step& step) {
  if (auto told = merge(step, step.body, "status"); !told) return told;
  const std::string time = std::to_string(++endings_);
  return merge(step, {{"metadata", {{"annotations", {{"simulator.evacuator.dev/ended", time}}}}}}, "");
}

base::Status ClientPort::carry_out(const Step& step) {
  using Verb = Step::Verb;
  switch (step.verb) {
    case Verb::kCreate: return done_or_error(client_.create(step.type, step.key.ns, step.body));
    case Verb::kMerge: return merge(step, step.body, "");
    case Verb::kMergeStatus: return step.type == kube::kPods ? end_pod(step) : merge(step, step.body, "status");
    case Verb::kDelete: return client_.remove(step.type, step.key, step.uid);
    case Verb::kEvent: return base::Done{};  // No test reads events from a real cluster
  }
  std::abort();
}

}  // namespace fake_kubevirt
