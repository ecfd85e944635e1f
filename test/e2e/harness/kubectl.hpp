#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "test/e2e/harness/api.hpp"
#include "test/e2e/harness/process.hpp"

namespace e2e {

/// The stock kubectl, as a user has it.
class Kubectl {
 public:
  Kubectl(std::filesystem::path kubeconfig, std::filesystem::path scratch)
      : kubeconfig_(std::move(kubeconfig)), scratch_(std::move(scratch)) {}

  Finished attempt(const std::vector<std::string>& arguments, std::string_view input = {}) const;
  /// Its stdout; throws Failure with its stderr when it fails.
  std::string operator()(const std::vector<std::string>& arguments, std::string_view input = {}) const;
  void apply(const Json& object) const { (*this)({"apply", "-f", "-"}, object.dump()); }
  /// Starts a long-running one, such as `get -w`; its stdout goes to `log`, the rest beside it.
  std::unique_ptr<Process> start(const std::vector<std::string>& arguments, const std::filesystem::path& log) const;

 private:
  std::vector<std::string> command(const std::vector<std::string>& arguments) const;

  std::filesystem::path kubeconfig_;
  std::filesystem::path scratch_;
};

/// One row of `kubectl get`, cells by column title.
using Row = std::map<std::string, std::string>;

/// Reads kubectl's table: column borders come from the title line, titles may hold blanks ("LAST CYCLE"). A title line
/// in the middle starts again.
std::vector<Row> parse_table(std::string_view text);
/// The titles of the first line, in order; two blanks or more part them.
std::vector<std::string> table_titles(std::string_view text);

}  // namespace e2e
