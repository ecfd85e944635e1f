#include "kube/config/files.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

namespace kube {
namespace {

constexpr std::size_t kLargestFile = 16 << 20;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

base::Error file_error(const std::string& path, int code) {
  const base::ErrorCode kind = code == ENOENT   ? base::ErrorCode::kNotFound
                               : code == EACCES ? base::ErrorCode::kForbidden
                                                : base::ErrorCode::kInvalid;
  return {kind, path + ": " + std::strerror(code)};
}

int base64_value(char c) {
  const auto at = kAlphabet.find(c);
  return at == std::string_view::npos ? -1 : static_cast<int>(at);
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

base::Result<std::string> read_file(const std::string& path) {
  std::error_code failed;
  if (std::filesystem::is_directory(path, failed)) return file_error(path, EISDIR);
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return file_error(path, errno == 0 ? EIO : errno);
  std::string content;
  std::array<char, 16384> block;
  while (in.read(block.data(), block.size()) || in.gcount() > 0) {
    content.append(block.data(), static_cast<std::size_t>(in.gcount()));
    if (content.size() > kLargestFile) return file_error(path, EFBIG);
  }
  if (in.bad()) return file_error(path, EIO);
  return content;
}

std::string relative_to(const std::string& file, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(file).parent_path() / path).string();
}

std::optional<std::string> decode_base64(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int held = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    if (c == '=' && ++padding <= 2) continue;
    const int value = base64_value(c);
    if (value < 0 || padding > 0) return std::nullopt;
    ++digits;
    bits = (bits << 6) | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>((bits >> held) & 0xff);
  }
  const bool complete = (digits + padding) % 4 == 0 && digits % 4 != 1;
  return complete ? std::optional(std::move(out)) : std::nullopt;
}

std::string encode_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group <<= 8;
      if (at + i < bytes.size()) group |= static_cast<unsigned char>(bytes[at + i]);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool used = i <= bytes.size() - at;
      out += used ? kAlphabet[(group >> (18 - 6 * i)) & 63] : '=';
    }
  }
  return out;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kube
