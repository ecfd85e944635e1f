#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>

#include "api/json/json_access.hpp"
#include "kube/config/credentials.hpp"
#include "kube/config/subprocess.hpp"

namespace kube {
namespace {

constexpr base::seconds kRenewBefore{10};
constexpr base::seconds kMinPause{5};

std::string exec_info(const ExecPlugin& plugin) {
  api::Json info = {{"kind", "ExecCredential"}, {"apiVersion", plugin.api_version}, {"spec", {{"interactive", false}}}};
  const api::Json cluster = api::Json::parse(plugin.cluster_info, nullptr, false);
  if (cluster.is_object()) info["spec"]["cluster"] = cluster;
  return api::to_json_text(info);
}

base::Result<ExecAnswer> read_status(const api::Json& status) {
  ExecAnswer answer;
  const std::string token = api::text_at(status, {"token"});
  answer.presented.client_certificate_pem = api::text_at(status, {"clientCertificateData"});
  answer.presented.client_key_pem = api::text_at(status, {"clientKeyData"});
  if (token.empty() && answer.presented.client_certificate_pem.empty())
    return base::invalid("it printed neither status.token nor status.clientCertificateData");
  if (answer.presented.client_certificate_pem.empty() != answer.presented.client_key_pem.empty())
    return base::invalid("it printed only one of status.clientCertificateData and status.clientKeyData");
  if (!token.empty()) {
    auto header = bearer(token);
    if (!header) return std::move(header).error();
    answer.presented.authorization = *std::move(header);
  }
  const std::string expires = api::text_at(status, {"expirationTimestamp"});
  if (!expires.empty()) answer.expires = base::parse_time(expires);
  if (!expires.empty() && !answer.expires)
    return base::invalid("its status.expirationTimestamp is not an RFC 3339 time");
  return answer;
}

base::Error explain(const ExecPlugin& plugin, const base::Error& error) {
  std::string message =
      fmt::format("exec plugin \"{}\" of user \"{}\": {}", plugin.command, plugin.user, error.message);
  if (!plugin.install_hint.empty() && base::is_not_found(error)) message += "\n" + plugin.install_hint;
  // Uses a retriable code, because the plugin's problem may pass.
  return {base::ErrorCode::kUnauthorized, std::move(message)};
}

base::Result<ExecAnswer> run_plugin(const ExecPlugin& plugin) {
  Subprocess process{plugin.command, plugin.args, plugin.env, plugin.timeout};
  process.env.emplace_back("KUBERNETES_EXEC_INFO", exec_info(plugin));
  const auto output = run(process);
  if (!output) return explain(plugin, output.error());
  if (output->exit_code != 0) {
    const std::string said = output->errors.empty() ? "" : ": " + output->errors;
    return explain(plugin, base::invalid(fmt::format("it exited with code {}{}", output->exit_code, said)));
  }
  auto answer = parse_exec_answer(output->output, plugin.api_version);
  if (!answer) return explain(plugin, answer.error());
  return answer;
}

class ExecCredentials final : public Credentials {
 public:
  ExecCredentials(ExecPlugin plugin, const base::Clock& clock) : plugin_(std::move(plugin)), clock_(clock) {}

  base::Result<Presented> present() override {
    const std::scoped_lock lock(mutex_);  // held while the plugin runs, so that one run serves all waiting callers
    const base::TimePoint now = clock_.now();
    if (current_ && !refused_ && !expires_within(now, kRenewBefore)) return current_->presented;
    // A failing plugin, or one whose credentials are refused, must not run for every request.
    const bool just_ran = ran_at_ && now < *ran_at_ + kMinPause && now >= *ran_at_;
    if (just_ran && (failure_ || refused_)) return cached_or_error(now);
    ran_at_ = now;
    auto answer = run_plugin(plugin_);
    if (!answer) {
      failure_ = std::move(answer).error();
      return cached_or_error(now);
    }
    current_ = *std::move(answer);
    failure_.reset();
    refused_ = false;
    return current_->presented;
  }

  void refused() override {
    const std::scoped_lock lock(mutex_);
    refused_ = true;
  }

 private:
  bool expires_within(base::TimePoint now, base::Duration margin) const {
    return current_->expires && now + margin >= *current_->expires;
  }
  /// Returns the previous credentials until they expire.
  base::Result<Presented> cached_or_error(base::TimePoint now) const {
    if (current_ && !expires_within(now, base::Duration::zero())) return current_->presented;
    if (failure_) return *failure_;
    return base::Error{base::ErrorCode::kUnauthorized, "the exec plugin's credentials have expired"};
  }

  const ExecPlugin plugin_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::optional<ExecAnswer> current_;
  std::optional<base::Error> failure_;
  std::optional<base::TimePoint> ran_at_;
  bool refused_ = false;
};

}  // namespace

base::Result<ExecAnswer> parse_exec_answer(std::string_view printed, std::string_view api_version) {
  const api::Json json = api::Json::parse(printed, nullptr, false);
  if (!json.is_object() || api::text_at(json, {"kind"}) != "ExecCredential")
    return base::invalid("it printed no ExecCredential object");
  if (api::text_at(json, {"apiVersion"}) != api_version)
    return base::invalid(
        fmt::format("it printed another apiVersion than {}, which the kubeconfig requires", api_version));
  const auto status = json.find("status");
  if (status == json.end() || !status->is_object()) return base::invalid("it printed an ExecCredential without status");
  return read_status(*status);
}

std::shared_ptr<Credentials> exec_credentials(ExecPlugin plugin, const base::Clock& clock) {
  return std::make_shared<ExecCredentials>(std::move(plugin), clock);
}

}  // namespace kube
