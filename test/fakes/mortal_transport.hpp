#pragma once

/// Header only, for tests that link the simulator.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "kube/client.hpp"
#include "kube/transport.hpp"
#include "simulator/api/server.hpp"

namespace fakes {

/// Time of a crash: before the server receives the last call, or after it has processed the call and before the answer
/// arrives.
enum class Death { kBeforeTheCall, kAfterTheCall };

/// Transport of a client to a simulated server. Single-threaded.
class MortalTransport final : public kube::Transport {
 public:
  MortalTransport(simulator::ApiServer& server, simulator::User user) : inner_(server, std::move(user)) {}

  base::Result<kube::Response> round_trip(const kube::Request& request) override {
    return call<kube::Response>(request, [&] { return answer_to(request); });
  }
  base::Result<std::unique_ptr<kube::WatchStream>> list(const kube::Request& request) override {
    return call<std::unique_ptr<kube::WatchStream>>(request, [&]() -> base::Result<std::unique_ptr<kube::WatchStream>> {
      if (auto refusal = lied_refusal(request)) return *std::move(refusal);
      return inner_.list(request);
    });
  }
  base::Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Request& request) override {
    if (dead_) return died();
    if (observer) observer(request);
    if (auto refusal = refuse_watch ? refuse_watch(request) : std::nullopt) return *std::move(refusal);
    const bool is_list = request.query.find("sendInitialEvents=true") != std::string::npos;
    if (auto refusal = is_list ? lied_refusal(request) : std::nullopt) return *std::move(refusal);
    return inner_.watch(request);
  }

  /// Called for every request of every live process, including watches.
  inline static std::function<void(const kube::Request&)> observer;

  /// Crashes at the n-th call from now, 0 for the next one. Replaces an earlier call of die_in().
  void die_in(int calls, Death how) {
    last_call_ = calls_ + calls;
    death_ = how;
  }
  /// Crashes immediately. Within before_each_call, crashes after that call.
  void die() { dead_ = true; }
  bool dead() const { return dead_; }
  int calls() const { return calls_; }

  /// Called for calls that reach the server, excluding watches.
  std::function<void(const kube::Request&)> before_each_call;
  std::function<void()> after_each_call;
  /// Answers instead of the server. For streamed lists only refusals are used.
  std::function<std::optional<kube::Response>(const kube::Request&)> lie;
  /// Returns an error for a watch that the server must not open.
  std::function<std::optional<base::Error>(const kube::Request&)> refuse_watch;

 private:
  static base::Error died() { return {base::ErrorCode::kCancelled, "the process is dead"}; }
  template <typename Answer, typename Ask>
  base::Result<Answer> call(const kube::Request& request, const Ask& ask) {
    if (dead_) return died();
    if (observer) observer(request);
    dead_ = calls_++ == last_call_;
    if (dead_ && death_ == Death::kBeforeTheCall) return died();
    if (before_each_call) before_each_call(request);
    auto answer = ask();
    if (after_each_call) after_each_call();
    if (dead_) return died();
    return answer;
  }
  std::optional<base::Error> lied_refusal(const kube::Request& request) const {
    auto untrue = lie ? lie(request) : std::nullopt;
    if (!untrue) return std::nullopt;
    auto meant = kube::classify(*std::move(untrue));
    if (!meant) return std::move(meant).error();
    return std::nullopt;
  }
  base::Result<kube::Response> answer_to(const kube::Request& request) {
    if (auto untrue = lie ? lie(request) : std::nullopt) return *std::move(untrue);
    return inner_.round_trip(request);
  }

  simulator::SimulatorTransport inner_;
  int calls_ = 0;
  int last_call_ = -1;
  Death death_ = Death::kBeforeTheCall;
  bool dead_ = false;
};

}  // namespace fakes
