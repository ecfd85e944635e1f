#include <gmock/gmock.h>

#include "cmd/commands.hpp"
#include "test/unit/cmd/command_fixture.hpp"

namespace cmd {
namespace validate_test {

class ValidateCommand : public cmd_test::CommandTest {};

constexpr const char* kUnknownParameter = R"(
apiVersion: evacuator.dev/v1alpha1
kind: Evacuation
metadata: {name: web-0, namespace: shop}
spec:
  podRef: {name: web-0}
  evictors: [{name: eviction-api, parameters: {speed: fast}}]
)";

TEST_F(ValidateCommand, ChecksWhatEvictorsAreGiven) {
  const std::string file = write("evacuation.yaml", kUnknownParameter);
  EXPECT_EQ(captured([&] { return run_validate({.files = {file}, .output = "text"}); }), 1);
  EXPECT_THAT(out_, testing::HasSubstr("spec.evictors[0].parameters.speed: "));
}

}  // namespace validate_test
}  // namespace cmd
