#include "simulator/kubevirt/kubevirt.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "simulator/api/failure.hpp"
#include "simulator/api/request_info.hpp"
#include "simulator/journal.hpp"
#include "simulator/kubevirt/admission.hpp"
#include "simulator/kubevirt/controllers.hpp"
#include "simulator/objects.hpp"
#include "simulator/pod_facts.hpp"

namespace simulator::kubevirt {
namespace {

using api::Json;

base::Error missing(const kube::ResourceType& type, const std::string& name) {
  return {base::ErrorCode::kNotFound,
          fmt::format("{}{}{} \"{}\" not found", type.plural, type.group.empty() ? "" : ".", type.group, name)};
}

/// Port to the simulator's store.
class StorePort final : public Port {
 public:
  /// `events` may be nullptr, which disables Events. Both must outlive the port.
  StorePort(Store& store, EventRecorder* events) : store_(store), events_(events) {}

  base::Result<Object> get(const kube::ResourceType& type, const api::ObjectKey& key) const override {
    Object found = store_.get(type, key);
    if (!found) return missing(type, key.name);
    return found;
  }

  base::Result<std::vector<Object>> list(const kube::ResourceType& type) const override { return store_.list(type); }

  base::Status carry_out(const Step& step) override {
    using Verb = Step::Verb;
    switch (step.verb) {
      case Verb::kMerge: return patch(step, Part::kAll);
      case Verb::kMergeStatus: return patch(step, Part::kStatus);
      case Verb::kCreate: {
        Json object = step.body;
        complete(store_, step.type, object);
        if (auto admitted = store_.admit(step.type, object); !admitted) return admitted;
        return outcome(store_.create(step.type, std::move(object)));
      }
      case Verb::kDelete: return outcome(store_.remove(step.type, step.key, {step.uid, ""}));
      case Verb::kEvent:
        if (events_) events_->normal("virt-controller", step.body, step.reason, step.note);
        return base::Done{};
    }
    std::abort();
  }

 private:
  static base::Status outcome(const base::Result<Object>& written) {
    return written ? base::Status(base::Done{}) : written.error();
  }

  base::Status patch(const Step& step, Part part) {
    return outcome(store_.mutate(step.type, step.key, part, [&](Json& object) -> base::Status {
      if (uid_of(object) != step.uid) return base::Error{base::ErrorCode::kConflict, "another object"};
      object.merge_patch(step.body);
      return base::Done{};
    }));
  }

  Store& store_;
  EventRecorder* events_;
};

/// Returns the API server's message for an unreachable virt-api.
Denial virt_api_down() {
  return {500,
          "Post \"https://virt-api.kubevirt.svc:443/launcher-eviction-validate?timeout=10s\": dial tcp: connect: "
          "connection refused",
          "", true};
}

constexpr int kFailsClosedSince = 5;

Webhook eviction_webhook(Store& store, std::string_view name) {
  return {std::string(name), [&store, name](const AdmissionRequest& request) -> std::optional<Denial> {
            if (request.subresource != "eviction" || request.resource.plural != "pods" || !request.object)
              return std::nullopt;
            StorePort port(store, nullptr);
            const Config config = read_config(port);
            if (!intercepts(name, config, *request.object)) return std::nullopt;
            if (config.webhook_down)
              return config.minor >= kFailsClosedSince ? std::optional(virt_api_down()) : std::nullopt;
            const auto message = review_eviction(port, request.key, *request.object, request.dry_run);
            return message ? std::optional(Denial{429, *message, ""}) : std::nullopt;
          }};
}

Webhook migration_webhook(Store& store) {
  return {std::string(kMigrationCreateWebhook), [&store](const AdmissionRequest& request) -> std::optional<Denial> {
            const bool mine = request.resource.plural == kube::kVmims.plural && request.subresource.empty() &&
                              request.verb == "create" && request.object;
            if (!mine) return std::nullopt;
            const StorePort port(store, nullptr);
            if (read_config(port).webhook_down) return virt_api_down();
            const auto refusal = review_migration(port, *request.object, false);
            return refusal ? std::optional(Denial{refusal->code, refusal->message, refusal->reason}) : std::nullopt;
          }};
}

kube::Response answer_of(const VirtApiAnswer& answer) {
  if (answer.code < 300) return {answer.code, "", {}, ""};
  if (answer.reason.empty()) return {answer.code, answer.message, {}, "text/plain"};
  return to_response(Failure{answer.code, answer.reason, answer.message, nullptr});
}

Endpoint subresources(Store& store) {
  return [&store](const RequestInfo& info, const kube::Request& request) -> std::optional<kube::Response> {
    if (info.group != "subresources.kubevirt.io" || request.method != "PUT") return std::nullopt;
    StorePort port(store, nullptr);
    const auto answer =
        serve_virt_api(port, {info.plural, info.subresource, {info.ns, info.name}, request.accept, request.body});
    return answer ? std::optional(answer_of(*answer)) : std::nullopt;
  };
}

/// KubeVirt's controllers in the simulated cluster: every VirtualMachineInstance gets its launcher pod, marked ones
/// migrate. Behavior is set by annotations such as behaviour::kMigrationScript. No cost without VMIs.
class KubeVirt final : public Actor {
 public:
  KubeVirt(Store& store, EventRecorder& events) : journal_(store), port_(store, &events) {
    const auto note = [this](const Change&) { dirty_ = true; };
    for (const auto& type : {kube::kVmis, kube::kVmims, kube::kKubeVirts, kube::kPods, kube::kPdbs, kube::kNodes})
      journal_.follow(type, note);
  }

  std::string_view name() const override { return "kubevirt"; }

  bool tick(base::TimePoint now) override {
    journal_.poll();
    if (due_ && *due_ <= now) dirty_ = true;
    if (!dirty_) return false;
    dirty_ = false;
    const auto round = run_round(port_, now);
    due_ = round ? round->due : std::nullopt;
    return round && round->changed;
  }

  std::optional<base::TimePoint> next_due() const override { return due_; }

 private:
  Journal journal_;
  StorePort port_;
  bool dirty_ = false;
  std::optional<base::TimePoint> due_;
};

}  // namespace

base::Status install(Cluster& cluster, ApiServer& server, std::string_view version) {
  for (const Json& definition : definitions(minor_of(version))) {
    if (auto installed = server.install_crd(definition); !installed) return installed;
  }
  Store& store = cluster.store();
  if (!store.get(kube::kNamespaces, {"", "kubevirt"})) {
    if (const auto added = cluster.add(objects::name_space("kubevirt")); !added) return added.error();
  }
  server.add_webhook(eviction_webhook(store, kLauncherEvictionWebhook));
  server.add_webhook(eviction_webhook(store, kHotplugEvictionWebhook));
  server.add_webhook(migration_webhook(store));
  server.add_endpoint(subresources(store));
  cluster.add_actor(std::make_unique<KubeVirt>(store, cluster.events()));
  return base::Done{};
}

}  // namespace simulator::kubevirt
