#pragma once

#include <gtest/gtest.h>

#include <string>

#include "test/fakes/temp_folder.hpp"

namespace cmd_test {

/// Provides each test with its own folder and captures a command's standard output and standard error.
class CommandTest : public testing::Test {
 protected:
  /// Returns the path.
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  /// Returns the exit code.
  template <typename Command>
  int captured(Command command) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = command();
    out_ = testing::internal::GetCapturedStdout();
    err_ = testing::internal::GetCapturedStderr();
    return code;
  }

  const fakes::TempFolder folder_;
  const std::string& directory_ = folder_.path();
  std::string out_, err_;
};

}  // namespace cmd_test
