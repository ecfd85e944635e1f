#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {

/// The unmodified kubectl.
class Kubectl {
 public:
  Kubectl(std::filesystem::path kubeconfig, std::filesystem::path scratch)
      : kubeconfig_(std::move(kubeconfig)), scratch_(std::move(scratch)) {}

  Finished attempt(const std::vector<std::string>& arguments, std::string_view input = {}) const;
  /// Returns stdout. Throws Failure with stderr on errors.
  std::string operator()(const std::vector<std::string>& arguments, std::string_view input = {}) const;
  void apply(const Json& object) const { (*this)({"apply", "-f", "-"}, object.dump()); }
  /// Starts a long-running command such as `get -w`. Its stdout goes to `log`, stderr to a file next to it.
  std::unique_ptr<Process> start(const std::vector<std::string>& arguments, const std::filesystem::path& log) const;

 private:
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;

  std::filesystem::path kubeconfig_;
  std::filesystem::path scratch_;
};

/// One row of `kubectl get`, cells by column title.
using Row = std::map<std::string, std::string>;

/// Parses kubectl's table. The title line determines the columns, and titles may contain spaces ("LAST CYCLE"). A
/// further title line starts a new table.
std::vector<Row> parse_table(std::string_view text);
/// Returns the titles of the first line in order. They are separated by two or more spaces.
std::vector<std::string> table_titles(std::string_view text);

}  // namespace e2e
