#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace cmd_test {

/// A folder of its own for each test, and what a command said on standard output and error.
class CommandTest : public testing::Test {
 protected:
  CommandTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "evacuator-cmd-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~CommandTest() override { std::filesystem::remove_all(directory_); }

  /// Returns the path.
  std::string write(const std::string& name, const std::string& text) const {
    std::string path = directory_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }
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

  std::string directory_, out_, err_;
};

}  // namespace cmd_test
