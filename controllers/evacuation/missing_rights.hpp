#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "kube/transport.hpp"

namespace controllers::evacuation {

/// Tracks requests that the API server refuses with 403, by verb, namespace and kind; reads by their whole path. A
/// server that has just started has not loaded its roles yet and refuses for a few seconds what it grants later, so
/// such a 403 is retried. Losing this state costs a delay of kServerStart. Thread-safe.
class MissingRights {
 public:
  /// A refusal that persists longer is final.
  static constexpr base::seconds kServerStart{20};
  /// An older refusal does not count, since the server may have restarted since.
  static constexpr base::minutes kForgottenAfter{5};

  /// Records that `request` was refused. Returns true while the refusal may be temporary. `now` must be of a steady
  /// clock.
  bool refused(const kube::Request& request, base::TimePoint now);
  /// Records any other answer.
  void answered(const kube::Request& request);

 private:
  struct Refusals {
    base::TimePoint first;
    base::TimePoint last;
  };
  std::mutex mutex_;
  std::map<std::string, Refusals> refusals_;
};

}  // namespace controllers::evacuation
