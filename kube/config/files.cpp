#include "kube/config/files.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace kube {
namespace {

constexpr std::size_t kMaxFile = 16 << 20;

base::Error file_error(const std::string& path, int code) {
  const base::ErrorCode kind = code == ENOENT   ? base::ErrorCode::kNotFound
                               : code == EACCES ? base::ErrorCode::kForbidden
                                                : base::ErrorCode::kInvalid;
  return {kind, path + ": " + std::strerror(code)};
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
    if (content.size() > kMaxFile) return file_error(path, EFBIG);
  }
  if (in.bad()) return file_error(path, EIO);
  return content;
}

std::string relative_to(const std::string& file, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return (std::filesystem::path(file).parent_path() / path).string();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace kube
