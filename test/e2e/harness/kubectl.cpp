#include "test/e2e/harness/kubectl.hpp"

#include <sstream>

#include "test/e2e/harness/await.hpp"
#include "test/e2e/harness/environment.hpp"

namespace e2e {
namespace {

struct Column {
  std::string title;
  std::size_t start = 0;
};

std::vector<Column> columns_of(std::string_view line) {
  std::vector<Column> columns;
  for (std::size_t at = line.find_first_not_of(' '); at < line.size();) {
    std::size_t end = line.find("  ", at);
    if (end == std::string_view::npos) end = line.find_last_not_of(' ') + 1;
    columns.push_back({std::string(line.substr(at, end - at)), at});
    at = line.find_first_not_of(' ', end);
  }
  return columns;
}

std::string cell_of(std::string_view line, std::size_t start, std::size_t end) {
  if (start >= line.size()) return {};
  const std::string_view cell = line.substr(start, end - start);
  const std::size_t last = cell.find_last_not_of(' ');
  return last == std::string_view::npos ? std::string() : std::string(cell.substr(0, last + 1));
}

bool is_title_line(std::string_view line) {
  return line.starts_with("NAME ") || line.starts_with("NAMESPACE ") || line.starts_with("EVENT ");
}

}  // namespace

std::vector<std::string> Kubectl::command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> argv{kubectl_binary(), "--kubeconfig=" + kubeconfig_.string(),
                                "--cache-dir=" + (scratch_ / "kubectl").string()};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return argv;
}

Finished Kubectl::attempt(const std::vector<std::string>& arguments, std::string_view input) const {
  return run(command(arguments), input);
}

std::string Kubectl::operator()(const std::vector<std::string>& arguments, std::string_view input) const {
  const Finished done = attempt(arguments, input);
  if (done.ok()) return done.out;
  std::string line = "kubectl";
  for (const std::string& argument : arguments) line += " " + argument;
  throw Failure(line + " exited with " + std::to_string(done.exit_code) + ":\n" + done.err + done.out);
}

std::unique_ptr<Process> Kubectl::start(const std::vector<std::string>& arguments,
                                        const std::filesystem::path& log) const {
  return std::make_unique<Process>(
      Process::Options{.argv = command(arguments), .environment = {}, .log = log, .errors = log.string() + ".errors"});
}

std::vector<std::string> table_titles(std::string_view text) {
  std::vector<std::string> titles;
  for (const Column& column : columns_of(text.substr(0, text.find('\n')))) titles.push_back(column.title);
  return titles;
}

std::vector<Row> parse_table(std::string_view text) {
  std::vector<Row> rows;
  std::vector<Column> columns;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (is_title_line(line)) {
      columns = columns_of(line);
      continue;
    }
    if (columns.empty() || line.empty()) continue;
    Row row;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row[columns[i].title] =
          cell_of(line, columns[i].start, i + 1 < columns.size() ? columns[i + 1].start : line.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace e2e
