/// Any text as a kubeconfig, as a plugin's answer, as a URL, as Base64, as a Lease: no crash, and no error longer than
/// a page.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/base64.hpp"
#include "kube/config/config.hpp"
#include "kube/config/files.hpp"
#include "kube/config/kubeconfig.hpp"
#include "kube/config/url.hpp"
#include "kube/runtime/leader_election.hpp"

namespace {

/// Errors are shown in terminals and conditions.
void expect_short(const base::Error& error, std::size_t input) {
  if (error.message.empty() || error.message.size() > 4096 + 4 * input) std::abort();
}

/// The empty name selects the current context, so a context without a name cannot be selected.
void resolve_every_context(const kube::Kubeconfig& config) {
  for (const auto& context : config.contexts) {
    if (context.name.empty()) continue;
    const auto chosen = kube::choose_context(config, context.name);
    if (chosen && chosen->context.name != context.name) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const base::ManualClock clock{base::TimePoint{}};
  const auto config = kube::config_from_text(text, "/nonexistent/config", "", clock);
  if (!config) expect_short(config.error(), size);
  if (config && !config->credentials) std::abort();
  auto parsed = kube::parse_kubeconfig(text, "/nonexistent/config");
  if (parsed) {
    resolve_every_context(*parsed);
    kube::Kubeconfig twice = *parsed;
    kube::merge(twice, *parsed);
    if (twice.clusters.size() > parsed->clusters.size()) std::abort();
  }
  if (const auto answer = kube::parse_exec_answer(text, "client.authentication.k8s.io/v1"); !answer)
    expect_short(answer.error(), 0);
  if (const auto url = kube::parse_url(text)) {
    const auto again = kube::parse_url((url->tls ? "https://" : "http://") + url->authority() + url->path);
    if (!again || again->host != url->host || again->port != url->port || again->path != url->path) std::abort();
  }
  if (const auto bytes = base::decode_base64(text)) {
    if (base::decode_base64(base::encode_base64(*bytes)) != bytes) std::abort();
  }
  (void)kube::decode_lease(text);
  return 0;
}
