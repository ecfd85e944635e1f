#pragma once

/// In-memory server. Each path has a list of answers in order, and the last answer is repeated.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "kube/client.hpp"
#include "usage/sources/dependencies.hpp"

namespace usage_test {

inline const base::TimePoint kNoon = *base::parse_time("2026-11-21T12:00:00Z");

class FakeServer final : public kube::Transport {
 public:
  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    requests.push_back(request);
    auto& left = answers[request.path];
    if (left.empty()) return kube::Response{404, "not here", {}, "text/plain"};
    kube::Response answer = left.front();
    if (left.size() > 1) left.erase(left.begin());
    if (answer.status == 0) return base::unavailable(refusal);
    return answer;
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request&) override {
    return base::unavailable("no watches here");
  }
  /// Adds an answer. Status 0 fails the request with `refusal`.
  void on(const std::string& path, std::string body, int status = 200) {
    answers[path].push_back({status, std::move(body), {}, "application/json"});
  }

  std::string refusal = "connection refused";  ///< Error message of a request with status 0
  std::map<std::string, std::vector<kube::Response>> answers;
  std::vector<kube::Request> requests;
};

/// The API server, the measured server and the dependencies of a source that connects to them.
struct World {
  FakeServer api_server;
  kube::Client client{api_server, nullptr};
  base::ManualClock clock{kNoon};
  FakeServer server;
  std::vector<kube::Config> configs;  ///< Configs of all opened connections
  std::vector<kube::HttpTransportOptions> options;

  usage::Dependencies dependencies() {
    return {
        &client, &clock, "evacuator-system",
        [this](kube::Config config, kube::HttpTransportOptions with) -> base::Result<std::unique_ptr<kube::Transport>> {
          configs.push_back(std::move(config));
          options.push_back(std::move(with));
          return std::unique_ptr<kube::Transport>(std::make_unique<Wire>(server));
        }};
  }

 private:
  /// Connection to a server that outlives it.
  class Wire final : public kube::Transport {
   public:
    explicit Wire(FakeServer& server) : server_(server) {}
    base::Result<kube::Response> round_trip(const kube::Request& request) override {
      return server_.round_trip(request);
    }
    base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override {
      return server_.watch(request);
    }

   private:
    FakeServer& server_;
  };
};

}  // namespace usage_test
