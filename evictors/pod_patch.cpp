#include "evictors/pod_patch.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "kube/request.hpp"

namespace evictors {
namespace {

constexpr std::size_t kMaxHandoffReason = 200;

}  // namespace

Action patch_pod_annotations(const EvictorContext& context, ActionRole role, std::string_view name,
                             api::Json annotations) {
  const api::ObjectMeta& meta = context.pod->meta;
  const api::Json patch = {
      {"metadata",
       {{"uid", meta.uid}, {"resourceVersion", meta.resource_version}, {"annotations", std::move(annotations)}}}};
  return make_action(role, name, kube::patch_request(kube::kPods, meta.key(), kube::PatchType::kMerge, patch),
                     "podResourceVersion=" + meta.resource_version);
}

Classification classify_pod_patch(const CallResult& answer) {
  Classification meaning = classify_patch(answer);
  if (meaning.answer == ResponseClass::kForbidden)
    meaning.message += " (config/optional/annotation-evictors.yaml contains the role to patch pods)";
  return meaning;
}

bool is_our_token(const EvictorContext& context, std::string_view value) {
  const std::string& uid = context.evacuation.meta.uid;
  if (uid.empty() || value.size() < uid.size() + 2 || !value.starts_with(uid) || value[uid.size()] != '.') return false;
  return std::isdigit(static_cast<unsigned char>(value[uid.size() + 1])) != 0;
}

std::string handoff_reason(const api::EvacuationSpec& spec) {
  return spec.reason.empty() ? "evacuation requested" : base::truncate_utf8(spec.reason, kMaxHandoffReason);
}

}  // namespace evictors
