#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "telemetry/audit/sink.hpp"

namespace audit {

struct FileOptions {
  std::string path;
  std::size_t max_size = std::size_t{100} << 20;  ///< rotate before the file exceeds this number of bytes
  int max_files = 10;                             ///< number of files kept, including the current one; >= 1
};

/// Writes to a file that grows to `max_size` and is then renamed to "<path>.<seq of its first record, 12 digits>". The
/// oldest files beyond `max_files` are deleted. Only one process at a time can write (flock). The first record of a new
/// file links to the last record of the old file, even if the process ended between the two.
class FileSink final : public Sink {
 public:
  /// Receives the new name of each rotated file and the head of the chain in it. May be empty.
  using Rotated = std::function<void(const std::string& file, const Head& head)>;
  explicit FileSink(FileOptions options, Rotated rotated = {});
  ~FileSink() override;
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  std::string_view name() const override { return "file"; }
  base::Result<Opened> open() override;
  base::Status append(const Line& line) override;
  base::Status sync() override;

 private:
  void close();
  base::Status open_file();
  base::Result<Opened> resume_from_tail();
  base::Result<Opened> head_of_rotated() const;
  base::Status write_all(const std::string& text);
  base::Status rotate();
  void delete_oldest() const;
  base::Error failed(const char* what) const;

  const FileOptions options_;
  const Rotated rotated_;
  int fd_ = -1;
  std::size_t size_ = 0;
  std::uint64_t first_seq_ = 0;  ///< seq of the first record in the current file, 0 if it has no record
  Head head_;                    ///< head of the current file
};

/// Returns the rotated files of `path`, oldest first.
std::vector<std::string> rotated_files(const std::string& path);

}  // namespace audit
