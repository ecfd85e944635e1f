#include "test/bench/real/connection.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "api/core/object_json.hpp"
#include "kube/config/config.hpp"
#include "kube/config/process_environment.hpp"
#include "test/bench/real/audit_log.hpp"

namespace bench {

void die(const std::string& message) {
  fmt::print(stderr, "evacuator_real_bench: {}\n", message);
  std::exit(1);
}

Connection::Connection(const std::string& kubeconfig, int connections) {
  auto config = kube::load_config({kubeconfig, ""}, kube::child_environment(), clock_);
  if (!config) die(config.error().message);
  kube::HttpTransportOptions options;
  options.engine = kube::HttpEngine::kBeast;
  options.max_connections = connections;
  options.user_agent = kUserAgent;
  auto transport = kube::HttpTransport::create(*std::move(config), options);
  if (!transport) die(transport.error().message);
  transport_ = *std::move(transport);
  client_ = std::make_unique<kube::Client>(*transport_, nullptr);
}

std::vector<api::ObjectMeta> Connection::list(const kube::ResourceType& type, const std::string& ns) {
  std::vector<api::ObjectMeta> all;
  kube::ListOptions options;
  options.ns = ns;
  const auto listed = client_->list(type, options, [&](std::string_view item) -> base::Status {
    const auto json = api::parse_json(item);
    if (!json) return json.error();
    const api::Json& meta = json->at("metadata");
    api::ObjectMeta each;
    each.ns = meta.value("namespace", "");
    each.name = meta.value("name", "");
    each.uid = meta.value("uid", "");
    all.push_back(std::move(each));
    return base::Done{};
  });
  if (!listed) die(listed.error().message);
  return all;
}

void Connection::create(const kube::ResourceType& type, const std::string& ns, const api::Json& body) {
  const auto made = client_->create(type, ns, body);
  if (!made && made.error().code != base::ErrorCode::kAlreadyExists) die(made.error().message);
}

void Connection::patch(const kube::ResourceType& type, const api::ObjectKey& key, const api::Json& body,
                       std::string_view subresource) {
  const auto done = client_->patch(type, key, kube::PatchType::kMerge, body, subresource);
  if (!done) die(done.error().message);
}

void in_parallel(std::size_t threads, std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> all;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([&] {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    });
  }
}

}  // namespace bench
