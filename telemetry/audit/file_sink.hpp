#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "telemetry/audit/sink.hpp"

namespace audit {

struct FileOptions {
  std::string path;
  std::size_t max_size = std::size_t{100} << 20;  ///< a file that would grow beyond is rotated
  int max_files = 10;                             ///< kept, the current one included; >= 1
};

/// A file that grows to `max_size`, is renamed to "<path>.<number of its first record, 12 digits>" and followed by a
/// new one; the oldest beyond `max_files` are deleted. One process at a time writes to it (flock). A new file's first
/// record builds on the last one of the old file, also when the process ended between the two.
class FileSink final : public Sink {
 public:
  /// `rotated` is told the new name of each full file and the chain's head in it. May be empty.
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
  base::Result<Opened> take_up_tail();
  base::Result<Opened> head_of_rotated() const;
  base::Status write_all(const std::string& text);
  base::Status rotate();
  void delete_oldest() const;
  base::Error failed(const char* what) const;

  const FileOptions options_;
  const Rotated rotated_;
  int fd_ = -1;
  std::size_t size_ = 0;
  std::uint64_t first_seq_ = 0;  ///< of the current file; 0: it holds no record yet
  Head head_;                    ///< of the current file
};

/// The rotated files of `path`, oldest first.
std::vector<std::string> rotated_files(const std::string& path);

}  // namespace audit
