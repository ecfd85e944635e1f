#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cmd {

inline constexpr std::size_t kMaxDumpBytes = std::size_t{4} << 30;
inline constexpr std::size_t kMaxPolicyBytes = std::size_t{16} << 20;

/// Returns the name of a file for messages: "standard input" for "-".
std::string shown_path(const std::string& path);

/// Reads a whole file of up to `limit` bytes; "-" is standard input. Errors name the file.
base::Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxDumpBytes);

/// Reads a text file. Decompresses gzip, converts UTF-16 to UTF-8, removes a byte order mark. Archives, other
/// compression formats and binary files are errors with advice. `limit` also applies to the decompressed text.
base::Result<std::string> read_text_file(const std::string& path, std::size_t limit = kMaxDumpBytes);
/// Converts bytes in memory like read_text_file(). Errors name no file.
base::Result<std::string> text_of(std::string bytes, std::size_t limit);

struct FileSet {
  std::vector<std::string> files;  ///< sorted by name
  int foreign = 0;                 ///< number of files in a directory whose name is neither JSON nor YAML
  bool is_directory = false;
};
/// Returns the file itself, or all .json, .jsonl, .ndjson, .yaml and .yml files in the directory tree, optionally with
/// the suffix .gz. Skips names that begin with a dot and does not follow links to directories.
base::Result<FileSet> files_of(const std::string& path);

}  // namespace cmd
