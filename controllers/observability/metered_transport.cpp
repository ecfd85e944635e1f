#include "controllers/observability/metered_transport.hpp"

#include <mutex>
#include <string>

#include "kube/transport.hpp"

namespace controllers {
namespace {

constexpr int kNoCode = 0;

/// Returns a string literal, so views of it stay valid.
std::string_view verb_of(const kube::Request& request) {
  if (request.method == "GET") return request.flow == kube::Flow::kList ? "list" : "get";
  if (request.method == "POST") return request.path.ends_with("/eviction") ? "evict" : "create";
  if (request.method == "PUT") return "update";
  if (request.method == "PATCH") return "patch";
  return request.method == "DELETE" ? "delete" : "other";
}

/// Label for codes that no API server sends, which bounds the number of series.
constexpr int kOtherCode = 1000;

/// API Priority and Fairness responds in plain text, before eviction budgets are checked. The 429 of a budget is JSON.
bool is_refused_by_fairness(const kube::Response& response, std::string_view verb) {
  return response.status == 429 && (verb != "evict" || response.content_type.find("json") == std::string::npos);
}

class MeteredWatch final : public kube::WatchStream, public kube::ReadinessSource {
 public:
  MeteredWatch(std::unique_ptr<kube::WatchStream> inner, base::Gauge open) : inner_(std::move(inner)), open_(open) {
    open_.add(1);
  }
  ~MeteredWatch() override { open_.add(-1); }
  MeteredWatch(const MeteredWatch&) = delete;
  MeteredWatch& operator=(const MeteredWatch&) = delete;

  base::Result<std::optional<std::string>> next(base::milliseconds wait) override { return inner_->next(wait); }
  void cancel() override { inner_->cancel(); }
  bool on_news(std::function<void()> news) override {
    auto* const source = dynamic_cast<kube::ReadinessSource*>(inner_.get());
    return source != nullptr && source->on_news(std::move(news));
  }

 private:
  const std::unique_ptr<kube::WatchStream> inner_;
  const base::Gauge open_;
};

}  // namespace

void MeteredTransport::count(std::string_view verb, int code, base::TimePoint began) {
  const double seconds = std::chrono::duration<double>(steady_.now() - began).count();
  std::unique_lock lock(mutex_);
  auto known = durations_.find({verb, code});
  if (known == durations_.end()) {
    const std::string label = code == kNoCode ? "error" : code == kOtherCode ? "other" : std::to_string(code);
    const auto made = metrics_.histogram(
        "evacuator_api_request_duration_seconds",
        "Time until the API server responded, by verb and HTTP code; code error: no response.",
        {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30}, {{"verb", verb}, {"code", label}});
    known = durations_.emplace(std::pair(verb, code), made).first;
  }
  const base::Histogram durations = known->second;
  lock.unlock();
  durations.observe(seconds);
}

base::Result<kube::Response> MeteredTransport::round_trip(const kube::Request& request) {
  const base::TimePoint began = steady_.now();
  auto answer = inner_.round_trip(request);
  const std::string_view verb = verb_of(request);
  if (!answer && answer.error().code == base::ErrorCode::kCancelled) return answer;  // shutting down
  const bool is_known = answer && answer->status >= 100 && answer->status <= 599;
  count(verb, is_known ? answer->status : answer ? kOtherCode : kNoCode, began);
  if (answer && is_refused_by_fairness(*answer, verb)) {
    metrics_
        .counter("evacuator_api_fairness_rejections_total",
                 "Number of requests that API Priority and Fairness, or a proxy in front of the API server, rejected "
                 "with 429.",
                 {{"verb", verb}})
        .increment();
  }
  return answer;
}

base::Result<std::unique_ptr<kube::WatchStream>> MeteredTransport::watch(const kube::Request& request) {
  auto stream = inner_.watch(request);
  if (!stream && stream.error().code == base::ErrorCode::kCancelled) return stream;
  const std::string kind = request.path.substr(request.path.rfind('/') + 1);
  metrics_
      .counter("evacuator_watch_opens_total", "Number of requested watches, by kind and result.",
               {{"kind", kind}, {"result", stream ? "opened" : "failed"}})
      .increment();
  if (!stream) return stream;
  metrics_
      .gauge("evacuator_watch_opened_timestamp_seconds", "Unix time at which the newest watch of the kind was opened.",
             {{"kind", kind}})
      .set(std::chrono::duration<double>(wall_.now().time_since_epoch()).count());
  auto open = metrics_.gauge("evacuator_watches_open", "Number of open watches, by kind.", {{"kind", kind}});
  return std::unique_ptr<kube::WatchStream>(std::make_unique<MeteredWatch>(*std::move(stream), open));
}

/// Measures the time until the list begins. The rest also depends on how fast the client reads.
base::Result<std::unique_ptr<kube::WatchStream>> MeteredTransport::list(const kube::Request& request) {
  const base::TimePoint began = steady_.now();
  auto stream = inner_.list(request);
  if (stream) count("list", 200, began);
  return stream;
}

}  // namespace controllers
