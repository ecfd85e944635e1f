#pragma once

#include <map>
#include <mutex>
#include <string>

#include "base/clock.hpp"
#include "kube/transport.hpp"

namespace controllers::evacuation {

/// Which requests the API server refuses with 403, by verb, namespace and kind; reads by their whole path. A server
/// that has just started has not read its roles yet and refuses for a few seconds what it grants afterwards. A 403 that
/// may be of that sort is asked again. Losing this memory costs kServerStart, nothing else. Thread-safe.
class MissingRights {
 public:
  /// A refusal that lasts longer is final.
  static constexpr base::seconds kServerStart{20};
  /// A refusal that is older says nothing about the server of now.
  static constexpr base::minutes kForgottenAfter{5};

  /// Records that `request` was refused; true while that may pass. `now` must be of a steady clock.
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
