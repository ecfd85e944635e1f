#pragma once

#include <gtest/gtest.h>

#include <utility>

#include "test/unit/controllers/evacuation/phases/life.hpp"

namespace evacuation_decide_fixture {

using namespace evacuation_test;
using base::seconds;
using Phase = EvacuationPhase;

/// Returns a Life that waits for the answer to its first PostEviction.
inline Life posted(api::Evacuation evacuation = make_evacuation(), api::Pod pod = make_pod()) {
  Life life(std::move(evacuation), std::move(pod));
  life.tick();
  EXPECT_EQ(life.action(), "PostEviction");
  return life;
}

}  // namespace evacuation_decide_fixture
