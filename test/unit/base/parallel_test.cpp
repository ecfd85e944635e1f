#include "base/parallel.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

namespace base {
namespace side_by_side_test {

class SideBySide : public testing::TestWithParam<std::size_t> {};

TEST_P(SideBySide, CallsEachOnce) {
  std::array<std::atomic<int>, 20> calls{};
  std::vector<std::function<void()>> tasks;
  for (auto& each : calls) tasks.emplace_back([&] { ++each; });
  run_parallel(tasks, GetParam());
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST_P(SideBySide, CallsTheOthersIfOneThrows) {
  std::atomic<int> calls{0};
  const std::array<std::function<void()>, 3> tasks = {[&] { ++calls; }, [&] { throw std::runtime_error("second"); },
                                                      [&] { ++calls; }};
  EXPECT_THROW(run_parallel(tasks, GetParam()), std::runtime_error);
  EXPECT_EQ(calls, 2);
}

TEST_P(SideBySide, HasNothingToDoWithoutTasks) { run_parallel({}, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Threads, SideBySide, testing::Values(0, 1, 2, 50));

}  // namespace side_by_side_test
}  // namespace base
