#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cmd {

inline constexpr std::size_t kMaxDumpBytes = std::size_t{4} << 30;
inline constexpr std::size_t kMaxPolicyBytes = std::size_t{16} << 20;

/// The bytes of the whole file, at most `limit`; "-" is standard input. Errors name the file.
base::Result<std::string> read_file(const std::string& path, std::size_t limit = kMaxDumpBytes);

/// The text of a file: gzip is unpacked, UTF-16 becomes UTF-8, a byte order mark is left out. Archives, other
/// compressions and binary files are errors that say what to do. `limit` holds for the text, too.
base::Result<std::string> read_text_file(const std::string& path, std::size_t limit = kMaxDumpBytes);
/// The same of bytes in memory; its errors name no file.
base::Result<std::string> text_of(std::string bytes, std::size_t limit);

/// What a path stands for.
struct FileSet {
  std::vector<std::string> files;  ///< by name
  int foreign = 0;                 ///< files of a directory that are neither JSON nor YAML by their name
  bool is_directory = false;
};
/// The file itself, or all .json, .jsonl, .ndjson, .yaml and .yml of the directory and of those below it, also with .gz
/// behind that. Names that begin with a dot are passed over, links to directories are not followed.
base::Result<FileSet> files_of(const std::string& path);

}  // namespace cmd
