#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/fakes/mortal_transport.hpp"

namespace integration {

/// Plays a life of so many calls again for each call that the process may die at, and for each way to die. Ends with
/// the first failure.
inline void die_at_every_call(int calls, const std::function<void(int call, fakes::Death how)>& play) {
  for (int call = 0; call < calls; ++call) {
    for (const fakes::Death how : {fakes::Death::kBeforeTheCall, fakes::Death::kAfterTheCall}) {
      SCOPED_TRACE("died at call " + std::to_string(call) +
                   (how == fakes::Death::kBeforeTheCall ? ", before it" : ", after it"));
      play(call, how);
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace integration
