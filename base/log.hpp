#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace base {

/// One key with its rendered value. `quoted` is true if JSON output needs quotes.
struct Field {
  std::string key;
  std::string value;
  bool quoted = true;
};

Field kv(std::string_view key, std::string_view value);
Field kv(std::string_view key, const char* value);
Field kv(std::string_view key, std::int64_t value);
Field kv(std::string_view key, int value);
Field kv(std::string_view key, std::size_t value);
Field kv(std::string_view key, double value);
Field kv(std::string_view key, bool value);
Field kv(std::string_view key, const Error& error);

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat { kText, kJson };

/// Structured log: a constant message plus fields. Cheap to copy, thread-safe.
/// error = an administrator must act; info = the cluster was changed or a decision was made; debug = everything else.
class Log {
 public:
  /// Discards everything. Used by tests and simulations.
  Log();

  /// Writes to standard error through spdlog.
  static Log to_stderr(LogLevel level, LogFormat format);

  /// Returns a child logger that adds `fields` to every line. Make one per reconcile and pass it down.
  Log with(std::initializer_list<Field> fields) const;

  void debug(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void info(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void warning(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void error(std::string_view message, std::initializer_list<Field> fields = {}) const;
  void flush() const;

 private:
  struct Sink;
  void write(LogLevel level, std::string_view message, std::initializer_list<Field> fields) const;

  std::shared_ptr<const Sink> sink_;
  std::shared_ptr<const std::vector<Field>> fields_;
};

}  // namespace base
