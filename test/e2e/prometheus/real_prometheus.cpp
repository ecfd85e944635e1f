#include "test/e2e/prometheus/real_prometheus.hpp"

#include <stdlib.h>

#include <stdexcept>

#include "test/e2e/harness/await.hpp"

namespace e2e {
namespace {

std::string scrape_config(const PrometheusSettings& settings) {
  std::string text = "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n";
  if (settings.scrape)
    text +=
        "scrape_configs:\n  - job_name: nodes\n    honor_labels: true\n    static_configs:\n      - targets: "
        "['127.0.0.1:" +
        std::to_string(*settings.scrape) + "']\n";
  return text;
}

void backfill(const Folder& folder, const std::string& open_metrics) {
  write_file(folder / "past.txt", open_metrics);
  const Finished made = run({"promtool", "tsdb", "create-blocks-from", "openmetrics", (folder / "past.txt").string(),
                             (folder / "data").string()});
  if (!made.ok()) throw Failure("promtool: " + made.out + made.err);
}

}  // namespace

Exporter::Exporter(std::string text) : Exporter(std::function<std::string()>()) { say(std::move(text)); }

Exporter::Exporter(std::function<std::string()> measure)
    : measure_(std::move(measure)), server_({}, [this](const http_server::Request&) { return answer(); }) {
  if (auto started = server_.start(); !started) throw Failure("the exporter: " + started.error().message);
}

void Exporter::say(std::string text) {
  const std::scoped_lock lock(mutex_);
  text_ = std::move(text);
}

http_server::Response Exporter::answer() const {
  if (measure_) return measured();
  const std::scoped_lock lock(mutex_);
  return {text_.empty() ? 500 : 200, "text/plain; version=0.0.4", text_};
}

http_server::Response Exporter::measured() const {
  try {
    return {200, "text/plain; version=0.0.4", measure_()};
  } catch (const std::exception& failed) {
    return {500, "text/plain", failed.what()};
  }
}

Folder::Folder() {
  std::string name = "/tmp/evacuator-prometheus.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw Failure("cannot make " + name);
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

RealPrometheus::RealPrometheus(const Folder& folder, const PrometheusSettings& settings) : port_(free_port()) {
  write_file(folder / "prometheus.yml", scrape_config(settings));
  std::vector<std::string> argv = {"prometheus", "--config.file=" + (folder / "prometheus.yml").string(),
                                   "--storage.tsdb.path=" + (folder / "data").string(),
                                   "--web.listen-address=" + address(), "--web.route-prefix=" + settings.prefix};
  if (!settings.web_config.empty()) {
    write_file(folder / "web.yml", settings.web_config);
    argv.push_back("--web.config.file=" + (folder / "web.yml").string());
  }
  if (!settings.open_metrics.empty()) backfill(folder, settings.open_metrics);
  process_.emplace(Process::Options{argv, {}, folder / "log", {}, false});
  await("Prometheus to serve", [&](std::string& seen) {
    seen = log();
    if (!process_->running()) throw Failure("Prometheus ended:\n" + seen);
    return seen.find("Server is ready to receive web requests") != std::string::npos;
  });
}

}  // namespace e2e
