/// The end-to-end suite: GoogleTest with one cluster for all scenarios. EVACUATOR_E2E_TARGET selects it, see
/// test/e2e/harness/environment.hpp. EVACUATOR_E2E_SCRATCH is the folder for logs (default: a new folder below /tmp).

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <iostream>

#include "test/e2e/harness/scenario.hpp"

namespace {

std::filesystem::path make_scratch() {
  if (const char* given = std::getenv("EVACUATOR_E2E_SCRATCH"); given != nullptr && *given != '\0') {
    std::filesystem::create_directories(given);
    return std::filesystem::absolute(given);
  }
  std::string name = "/tmp/evacuator-e2e.XXXXXX";
  if (mkdtemp(name.data()) == nullptr) throw e2e::Failure("cannot make " + name);
  return name;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (::testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const std::filesystem::path scratch = make_scratch();
    e2e::Suite suite(scratch);
    e2e::Scenario::use(&suite, scratch);
    std::cout << "target " << suite.cluster().name() << ", logs in " << scratch.string() << std::endl;
    return RUN_ALL_TESTS();
  } catch (const std::exception& e) {
    std::cerr << "the cluster to test on could not be prepared: " << e.what() << std::endl;
    return 2;
  }
}
