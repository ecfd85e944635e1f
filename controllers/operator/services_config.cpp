#include "controllers/operator/services_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/names.hpp"
#include "api/meta/service_uses.hpp"
#include "kube/config/url.hpp"

namespace controllers {
namespace {

constexpr std::size_t kMaxServices = 64;
constexpr std::size_t kMaxNamespaces = 1000;
constexpr std::string_view kEveryNamespace = "*";
constexpr base::Duration kMinTimeout = base::seconds(1);
/// Must stay below the time after which an unanswered call counts as in flight (evictors::kCallTimeout).
constexpr base::Duration kMaxTimeout = base::seconds(30);

std::string complaint_about_url(const std::string& text) {
  if (text.find("://") == std::string::npos) return "must be a URL such as https://mover.example.com:8443";
  const auto url = kube::parse_url(text);
  if (!url) return url.error().message;
  if (!url->user_info.empty()) return "must not contain a user name or password: use tokenFile or certFile";
  if (text.find_first_of("?#") != std::string::npos) return "must not have a query or fragment";
  if (!url->tls && !url->is_loopback()) return "must be https; http is allowed only to 127.0.0.1, ::1 and localhost";
  return {};
}

bool lists(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_namespaces(const ServiceConfig& service, const api::FieldPath& at, api::FieldErrors& errors) {
  if (service.namespaces.size() > kMaxNamespaces)
    errors.push_back({at.text(), fmt::format("must have at most {} entries", kMaxNamespaces)});
  for (std::size_t i = 0; i < service.namespaces.size(); ++i) {
    const std::string& name = service.namespaces[i];
    if (name != kEveryNamespace && !api::is_dns_label(name))
      errors.push_back(
          {at.index(i).text(), fmt::format("must be the name of a namespace, or \"*\", not \"{}\"", name)});
  }
  // Patroni trusts the names in the request, so two namespaces could switch each other's cluster.
  const bool is_of_one = service.namespaces.size() <= 1 && !lists(service.namespaces, kEveryNamespace);
  if (!is_of_one && lists(service.uses, api::kServiceAsPatroni))
    errors.push_back({at.text(), "must be the single namespace of the Patroni cluster: uses contains patroni"});
}

void check_service(const ServiceConfig& service, const api::FieldPath& at, api::FieldErrors& errors) {
  if (!api::is_dns_label(service.name))
    errors.push_back({at.field("name").text(), "must be a name of at most 63 characters a-z, 0-9 and -"});
  if (const std::string complaint = complaint_about_url(service.url); !complaint.empty())
    errors.push_back({at.field("url").text(), complaint});
  const bool plain = service.url.starts_with("http://");
  if (plain && (!service.ca_file.empty() || !service.cert_file.empty()))
    errors.push_back({at.field(service.ca_file.empty() ? "certFile" : "caFile").text(), "requires an https url"});
  if (service.cert_file.empty() != service.key_file.empty())
    errors.push_back({at.field(service.cert_file.empty() ? "certFile" : "keyFile").text(),
                      "is required: certFile and keyFile must be set together"});
  if (!service.token_file.empty() && !service.cert_file.empty())
    errors.push_back({at.field("tokenFile").text(), "is mutually exclusive with certFile"});
  if (service.timeout < kMinTimeout || service.timeout > kMaxTimeout)
    errors.push_back({at.field("timeout").text(), "must be from 1s to 30s"});
  check_namespaces(service, at.field("namespaces"), errors);
  for (std::size_t i = 0; i < service.uses.size(); ++i) {
    if (std::ranges::find(api::kServiceUses, service.uses[i]) != api::kServiceUses.end()) continue;
    errors.push_back(
        {at.field("uses").index(i).text(),
         fmt::format("must be one of {}, not \"{}\"", fmt::join(api::kServiceUses, ", "), service.uses[i])});
  }
}

}  // namespace

void read_services(api::StrictObject& root, std::vector<ServiceConfig>& services) {
  root.for_each("services", [&](const api::Json& item, const api::FieldPath& path) {
    ServiceConfig service;
    api::StrictObject object(item, path, root.errors());
    object.read("name", service.name);
    object.read("url", service.url);
    object.read("caFile", service.ca_file);
    object.read("tokenFile", service.token_file);
    object.read("certFile", service.cert_file);
    object.read("keyFile", service.key_file);
    object.read_duration("timeout", service.timeout);
    object.read("namespaces", service.namespaces);
    object.read("uses", service.uses);
    object.finish();
    services.push_back(std::move(service));
  });
}

std::string refusal(const ServiceConfig& service, std::string_view use, std::string_view ns) {
  const bool has_namespace = lists(service.namespaces, ns) || lists(service.namespaces, kEveryNamespace);
  if (has_namespace && lists(service.uses, use)) return {};
  return fmt::format(
      "service {0} may not be called as {1} for namespace {2}: services[{0}].{3} of the operator's configuration does "
      "not list {4}",
      service.name, use, ns, has_namespace ? "uses" : "namespaces", has_namespace ? use : ns);
}

api::FieldErrors validate(const std::vector<ServiceConfig>& services) {
  api::FieldErrors errors;
  const api::FieldPath at("services");
  if (services.size() > kMaxServices)
    errors.push_back({at.text(), fmt::format("must have at most {} entries", kMaxServices)});
  for (std::size_t i = 0; i < services.size(); ++i) {
    check_service(services[i], at.index(i), errors);
    const auto same = [&](const ServiceConfig& each) { return each.name == services[i].name; };
    const auto first = std::find_if(services.begin(), services.end(), same);
    if (static_cast<std::size_t>(first - services.begin()) < i)
      errors.push_back({at.index(i).field("name").text(), fmt::format("{} is listed twice", services[i].name)});
  }
  return errors;
}

}  // namespace controllers
