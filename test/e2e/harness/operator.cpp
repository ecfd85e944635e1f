#include "test/e2e/harness/operator.hpp"

#include <csignal>

#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/environment.hpp"

namespace e2e {
namespace {

std::string configuration(const Operator::Settings& settings) {
  return "limits:\n  inFlight: " + settings.limits + "\nservices: " + settings.services +
         "\nwebhook: " + settings.webhook + "\n";
}

std::string seconds_text(std::chrono::seconds value) { return std::to_string(value.count()) + "s"; }

}  // namespace

Operator::Operator(std::filesystem::path kubeconfig, std::filesystem::path folder, Settings settings)
    : kubeconfig_(std::move(kubeconfig)), folder_(std::move(folder)), settings_(std::move(settings)) {
  std::filesystem::create_directories(folder_);
  write_file(folder_ / (settings_.identity + ".yaml"), configuration(settings_));
}

std::vector<std::string> Operator::command() const {
  return {settings_.binary.string(),
          "run",
          "--kubeconfig=" + kubeconfig_.string(),
          "--config=" + (folder_ / (settings_.identity + ".yaml")).string(),
          "--namespace=evacuator-system",
          "--identity=" + settings_.identity,
          "--health-address=127.0.0.1:" + std::to_string(port_),
          "--metrics-address=127.0.0.1:" + std::to_string(metrics_port_),
          std::string("--leader-elect=") + (settings_.leader_election ? "true" : "false"),
          "--lease-duration=" + seconds_text(settings_.lease_duration),
          "--renew-deadline=" + seconds_text(settings_.renew_deadline),
          "--retry-period=" + seconds_text(settings_.retry_period),
          "--qps=200",
          "--burst=400",
          "--log-level=debug",
          "--log-format=json"};
}

void Operator::start() {
  port_ = free_port();
  metrics_port_ = free_port();
  process_ = std::make_unique<Process>(Process::Options{
      .argv = command(), .environment = {}, .log = folder_ / (settings_.identity + ".log"), .errors = {}});
}

Finished Operator::run_once(const std::vector<std::string>& flags) {
  port_ = free_port();
  metrics_port_ = free_port();
  settings_.leader_election = true;
  std::vector<std::string> argv = command();
  argv.push_back("--once");
  argv.insert(argv.end(), flags.begin(), flags.end());
  return run(argv, {}, std::chrono::minutes(4));
}

void Operator::await_ready() {
  const Api http(port_);
  await(settings_.identity + " to be ready", [&](std::string& seen) {
    if (!running())
      throw Failure(settings_.identity + " ended with " + std::to_string(*process_->exit_code()) + ":\n" + log_tail());
    const HttpAnswer answer = http.request("GET", "/readyz");
    seen = std::to_string(answer.code) + " " + answer.body + "\n" + log_tail();
    return answer.code == 200;
  });
}

void Operator::kill() {
  if (process_) process_->kill();
}

void Operator::crash() {
  if (!running()) throw Failure(settings_.identity + " died by itself:\n" + log_tail());
  kill();
  start();
}

int Operator::terminate(std::chrono::seconds limit) {
  process_->signal(SIGTERM);
  if (!process_->wait(limit)) throw Failure(settings_.identity + " ignores SIGTERM:\n" + log_tail());
  return *process_->exit_code();
}

std::string Operator::metrics() const { return Api(metrics_port_).request("GET", "/metrics").body; }

std::string Operator::log_tail() const {
  constexpr std::size_t kTail = 4000;
  const std::string log = read_file(folder_ / (settings_.identity + ".log"));
  return log.size() <= kTail ? log : log.substr(log.size() - kTail);
}

}  // namespace e2e
