#include "base/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cmath>
#include <utility>

#include "base/text.hpp"

namespace base {

struct Log::Sink {
  std::shared_ptr<spdlog::logger> logger;
  LogFormat format;
};

namespace {

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  std::abort();
}

/// C0, DEL and C1: terminals interpret these characters.
bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7f && c < 0xa0); }

/// Returns the control character that begins at `at` in UTF-8 text, and its length in bytes. The length is 0 if no
/// control character begins there.
std::pair<char32_t, std::size_t> control_at(std::string_view text, std::size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte < 0x80) return {byte, is_control(byte) ? 1 : 0};
  if (byte != 0xc2 || at + 1 >= text.size()) return {0, 0};
  const auto c = static_cast<unsigned char>(text[at + 1]);
  return {c, is_control(c) ? 2 : 0};
}

/// Escapes control characters (terminal sequences, line ends) and replaces invalid UTF-8 with U+FFFD.
std::string escaped(std::string_view foreign, std::string_view also_escaped) {
  const std::string text = truncate_utf8(foreign, std::string::npos);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const auto [control, bytes] = control_at(text, i);
    if (bytes > 0) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(control));
      i += bytes;
      continue;
    }
    if (also_escaped.find(text[i]) != std::string_view::npos) out += '\\';
    out += text[i++];
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  out += escaped(text, "\"\\");
  out += '"';
}

bool is_plain(const std::string& value) {
  return !value.empty() && value.find_first_of(" \"=\\") == std::string::npos && escaped(value, "") == value;
}

void append_text_value(std::string& out, const Field& field) {
  if (!field.quoted || is_plain(field.value)) {
    out += field.value;
  } else {
    append_json_string(out, field.value);
  }
}

void append_field(std::string& out, const Field& field, LogFormat format) {
  if (format == LogFormat::kText) {
    out += ' ';
    out += field.key;
    out += '=';
    append_text_value(out, field);
    return;
  }
  out += ',';
  append_json_string(out, field.key);
  out += ':';
  field.quoted ? append_json_string(out, field.value) : void(out += field.value);
}

std::string render_message(std::string_view message, LogFormat format) {
  std::string line;
  if (format == LogFormat::kText) {
    line = escaped(message, "");
  } else {
    append_json_string(line, message);
  }
  return line;
}

}  // namespace

Field kv(std::string_view key, std::string_view value) { return {std::string(key), std::string(value), true}; }
Field kv(std::string_view key, const char* value) { return kv(key, std::string_view(value)); }
Field kv(std::string_view key, std::int64_t value) { return {std::string(key), std::to_string(value), false}; }
Field kv(std::string_view key, int value) { return kv(key, static_cast<std::int64_t>(value)); }
Field kv(std::string_view key, std::size_t value) { return {std::string(key), std::to_string(value), false}; }
Field kv(std::string_view key, double value) {
  return {std::string(key), std::isfinite(value) ? fmt::format("{}", value) : "null", false};
}
Field kv(std::string_view key, bool value) { return {std::string(key), value ? "true" : "false", false}; }
Field kv(std::string_view key, const Error& error) {
  return {std::string(key), fmt::format("{}: {}", to_string(error.code), error.message), true};
}

Log::Log() = default;

Log Log::to_stderr(LogLevel level, LogFormat format) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>("evacuator", std::move(sink));
  logger->set_level(spdlog_level(level));
  logger->flush_on(spdlog::level::warn);
  logger->set_pattern(format == LogFormat::kText ? "%Y-%m-%dT%H:%M:%S.%eZ %-7l %v"
                                                 : R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","msg":%v})",
                      spdlog::pattern_time_type::utc);
  Log log;
  log.sink_ = std::make_shared<const Sink>(Sink{std::move(logger), format});
  return log;
}

Log Log::with(std::initializer_list<Field> fields) const {
  Log child = *this;
  if (!sink_) return child;
  auto all = fields_ ? *fields_ : std::vector<Field>{};
  all.insert(all.end(), fields.begin(), fields.end());
  child.fields_ = std::make_shared<const std::vector<Field>>(std::move(all));
  return child;
}

void Log::write(LogLevel level, std::string_view message, std::initializer_list<Field> fields) const {
  if (!sink_ || !sink_->logger->should_log(spdlog_level(level))) return;
  std::string line = render_message(message, sink_->format);
  if (fields_) {
    for (const Field& field : *fields_) append_field(line, field, sink_->format);
  }
  for (const Field& field : fields) append_field(line, field, sink_->format);
  sink_->logger->log(spdlog_level(level), spdlog::string_view_t(line.data(), line.size()));
}

void Log::debug(std::string_view message, std::initializer_list<Field> fields) const {
  write(LogLevel::kDebug, message, fields);
}
void Log::info(std::string_view message, std::initializer_list<Field> fields) const {
  write(LogLevel::kInfo, message, fields);
}
void Log::warning(std::string_view message, std::initializer_list<Field> fields) const {
  write(LogLevel::kWarning, message, fields);
}
void Log::error(std::string_view message, std::initializer_list<Field> fields) const {
  write(LogLevel::kError, message, fields);
}
void Log::flush() const {
  if (sink_) sink_->logger->flush();
}

}  // namespace base
