#include "test/fakes/kubevirt/installation.hpp"

#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/base64.hpp"
#include "kube/kubevirt.hpp"
#include "simulator/kubevirt/admission.hpp"
#include "simulator/kubevirt/types.hpp"
#include "test/fakes/kubevirt/virt_api.hpp"

namespace fake_kubevirt {
namespace {

using api::Json;

constexpr kube::ResourceType kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                          "CustomResourceDefinition", false};
constexpr kube::ResourceType kWebhooks{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
                                       "ValidatingWebhookConfiguration", false};
constexpr kube::ResourceType kApiServices{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false};
constexpr kube::ResourceType kServices{"", "v1", "services", "Service"};
constexpr std::chrono::seconds kServedWithin{60};

Json complete(const kube::ResourceType& type, const api::ObjectKey& key, Json object) {
  object["apiVersion"] = type.api_version();
  object["kind"] = type.kind;
  object["metadata"]["name"] = key.name;
  if (!key.ns.empty()) object["metadata"]["namespace"] = key.ns;
  return object;
}

base::Status apply(kube::Client& client, const kube::ResourceType& type, const api::ObjectKey& key, Json object,
                   std::string_view subresource = {}) {
  const Json whole = complete(type, key, std::move(object));
  const auto sent =
      client.call(kube::patch_request(type, key, kube::PatchType::kApply, whole, subresource, /*force=*/true));
  if (!sent) return sent.error().during("applying " + std::string(type.kind) + " " + key.name);
  return base::Done{};
}

/// Server-side apply of an APIService makes Kubernetes 1.20 panic.
base::Status create_or_merge(kube::Client& client, const kube::ResourceType& type, const api::ObjectKey& key,
                             Json object) {
  const Json whole = complete(type, key, std::move(object));
  if (client.create(type, key.ns, whole)) return base::Done{};
  const auto sent = client.patch(type, key, kube::PatchType::kMerge, whole);
  if (!sent) return sent.error().during("storing " + std::string(type.kind) + " " + key.name);
  return base::Done{};
}

Json webhook(std::string_view name, const std::string& path, const std::string& ca, std::uint16_t port, Json rule) {
  rule["operations"] = Json::array({"*"});
  return {{"name", name},
          {"clientConfig",
           {{"url", fmt::format("https://127.0.0.1:{}{}", port, path)}, {"caBundle", base::encode_base64(ca)}}},
          {"rules", Json::array({std::move(rule)})},
          {"failurePolicy", "Fail"},
          {"sideEffects", "NoneOnDryRun"},
          {"timeoutSeconds", 10},
          {"admissionReviewVersions", Json::array({"v1"})}};
}

Json rule(const char* group, const char* resource) {
  return {{"apiGroups", Json::array({group})},
          {"apiVersions", Json::array({"v1"})},
          {"resources", Json::array({resource})}};
}

Json webhooks(const std::string& ca, std::uint16_t port) {
  Json migrations = webhook(simulator::kubevirt::kMigrationCreateWebhook, kMigrationPath, ca, port,
                            rule("kubevirt.io", "virtualmachineinstancemigrations"));
  migrations["rules"][0]["operations"] = Json::array({"CREATE"});
  return {
      {"webhooks",
       Json::array(
           {webhook(simulator::kubevirt::kLauncherEvictionWebhook, kLauncherPath, ca, port, rule("", "pods/eviction")),
            webhook(simulator::kubevirt::kHotplugEvictionWebhook, kHotplugPath, ca, port, rule("", "pods/eviction")),
            std::move(migrations)})}};
}

/// The aggregator reaches this process through a service of type ExternalName, because virt-api does not run in a pod.
base::Status install_aggregated_api(kube::Client& client, std::uint16_t port) {
  auto applied = apply(client, kServices, {"kubevirt", "virt-api"},
                       {{"spec", {{"type", "ExternalName"}, {"externalName", "localhost"}}}});
  if (!applied) return applied;
  return create_or_merge(client, kApiServices, {"", "v1.subresources.kubevirt.io"},
                         {{"spec",
                           {{"group", "subresources.kubevirt.io"},
                            {"version", "v1"},
                            {"groupPriorityMinimum", 1000},
                            {"versionPriority", 15},
                            {"insecureSkipTLSVerify", true},
                            {"service", {{"namespace", "kubevirt"}, {"name", "virt-api"}, {"port", port}}}}}});
}

base::Status await_served(kube::Client& client) {
  const auto end = std::chrono::steady_clock::now() + kServedWithin;
  for (;;) {
    base::Status served = base::Done{};
    for (const auto& type : {kube::kVmis, kube::kVmims, kube::kKubeVirts}) {
      const auto listed = client.list(type, {}, [](std::string_view) -> base::Status { return base::Done{}; });
      if (!listed) served = listed.error();
    }
    if (served || std::chrono::steady_clock::now() > end) return served;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

base::Status install_definitions(kube::Client& client, const std::string& version) {
  for (const Json& definition : simulator::kubevirt::definitions(simulator::kubevirt::minor_of(version))) {
    const std::string name = definition["metadata"]["name"];
    if (auto applied = apply(client, kDefinitions, {"", name}, definition); !applied) return applied;
  }
  return await_served(client);
}

base::Status install_kubevirt_object(kube::Client& client, const std::string& version) {
  if (auto applied = apply(client, kube::kNamespaces, {"", "kubevirt"}, Json::object()); !applied) return applied;
  const Json object = simulator::objects::kubevirt(version);
  const api::ObjectKey key{"kubevirt", "kubevirt"};
  if (auto applied = apply(client, kube::kKubeVirts, key, {{"spec", object["spec"]}}); !applied) return applied;
  return apply(client, kube::kKubeVirts, key, {{"status", object["status"]}}, "status");
}

}  // namespace

base::Status install(kube::Client& client, const std::string& version, std::uint16_t port, const std::string& ca_pem) {
  if (auto done = install_definitions(client, version); !done) return done;
  if (auto done = install_kubevirt_object(client, version); !done) return done;
  if (auto done = apply(client, kWebhooks, {"", "virt-api-validator"}, webhooks(ca_pem, port)); !done) return done;
  return install_aggregated_api(client, port);
}

}  // namespace fake_kubevirt
