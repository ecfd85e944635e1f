#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "test/fakes/mortal_transport.hpp"

namespace integration {

/// Repeats a run of `calls` calls for each call at which the process may crash, and for each kind of crash. Stops at
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
