#include "telemetry/audit/file_sink.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace audit {
namespace {

namespace fs = std::filesystem;

/// Size of the tail that open() reads: several lines of maximum length.
constexpr std::size_t kTailWindow = 8 * kMaxLine;
constexpr std::size_t kSeqDigits = 12;

base::Error system_error(std::string_view what, const std::string& path) {
  return base::unavailable(fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

/// Returns true for "<path>.000000000123" and, if that name was taken, "<path>.000000000123-1".
bool is_rotated_name(std::string_view name, std::string_view stem) {
  if (name.size() < stem.size() + 1 + kSeqDigits || !name.starts_with(stem) || name[stem.size()] != '.') return false;
  const std::string_view number = name.substr(stem.size() + 1);
  if (number.find_first_not_of("0123456789") < kSeqDigits) return false;
  const std::string_view rest = number.substr(kSeqDigits);
  return rest.empty() || (rest[0] == '-' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

base::Result<std::string> read_range(int fd, const std::string& path, std::size_t from, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = pread(fd, bytes.data() + done, size - done, static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("reading", path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

base::Result<Tail> tail_of(int fd, const std::string& path, std::size_t size) {
  const std::size_t window = std::min(size, kTailWindow);
  const auto bytes = read_range(fd, path, size - window, window);
  if (!bytes) return bytes.error();
  Tail tail = read_tail(*bytes);
  if (!tail.last && window < size) {
    return base::unavailable(path + " does not end with audit records: move it away to start a new chain");
  }
  return tail;
}

/// Returns the seq of the first readable record of a file, 0 if none.
std::uint64_t first_seq_of(int fd, const std::string& path, std::size_t size) {
  const auto bytes = read_range(fd, path, 0, std::min(size, kTailWindow));
  std::string_view rest = bytes ? std::string_view(*bytes) : std::string_view();
  while (!rest.empty()) {
    const std::size_t newline = std::min(rest.find('\n'), rest.size());
    if (const auto line = parse_line(rest.substr(0, newline))) return line->record.seq;
    rest.remove_prefix(std::min(newline + 1, rest.size()));
  }
  return 0;
}

/// Makes file creations and renames in the directory of `path` durable.
void sync_directory(const std::string& path) {
  const std::string directory = fs::path(path).parent_path().string();
  const int fd = ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)fsync(fd);
  ::close(fd);
}

/// Renames the file to an unused name and returns it. Never overwrites another file.
base::Result<std::string> rename_to_free_name(const std::string& path, std::uint64_t first_seq) {
  const std::string wanted = fmt::format("{}.{:012}", path, first_seq);
  for (int i = 0; i < 1000; ++i) {
    const std::string name = i == 0 ? wanted : fmt::format("{}-{}", wanted, i);
    if (link(path.c_str(), name.c_str()) == 0) {
      if (unlink(path.c_str()) != 0) return system_error("unlinking", path);
      return name;
    }
    if (errno != EEXIST) {  // the file system has no hard links
      std::error_code exists;
      if (fs::exists(name, exists)) continue;
      if (rename(path.c_str(), name.c_str()) == 0) return name;
      return system_error("renaming to " + name + ":", path);
    }
  }
  return base::unavailable("no unused name for the rotated file " + wanted);
}

}  // namespace

std::vector<std::string> rotated_files(const std::string& path) {
  const fs::path directory = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
  const std::string stem = fs::path(path).filename().string();
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    if (is_rotated_name(at->path().filename().string(), stem)) files.push_back(at->path().string());
  }
  const auto key = [&](const std::string& file) {
    const std::string number = fs::path(file).filename().string().substr(stem.size() + 1);
    return std::tuple(number.substr(0, kSeqDigits), number.size(), number);  // "-2" before "-10"
  };
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return files;
}

FileSink::FileSink(FileOptions options, Rotated rotated) : options_(std::move(options)), rotated_(std::move(rotated)) {}

FileSink::~FileSink() { close(); }

void FileSink::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

base::Error FileSink::failed(const char* what) const { return system_error(what, options_.path); }

base::Status FileSink::open_file() {
  fd_ = ::open(options_.path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0640);
  if (fd_ < 0) return failed("opening");
  struct stat info {};
  if (fstat(fd_, &info) != 0) return failed("reading the size of");
  if (!S_ISREG(info.st_mode)) return base::unavailable(options_.path + " is not a regular file");
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    return base::unavailable(options_.path +
                             " is written by another process: use a separate file for each replica (audit.file.path)");
  }
  size_ = static_cast<std::size_t>(info.st_size);
  return base::Done{};
}

base::Result<Opened> FileSink::open() {
  close();
  if (auto opened = open_file(); !opened) {
    close();
    return opened.error();
  }
  auto result = resume_from_tail();
  if (!result) close();
  return result;
}

base::Result<Opened> FileSink::resume_from_tail() {
  auto tail = tail_of(fd_, options_.path, size_);
  if (!tail) return tail.error();
  first_seq_ = tail->last ? first_seq_of(fd_, options_.path, size_) : 0;
  head_ = tail->last ? tail->last->head() : Head{};
  Opened opened;
  if (tail->torn) opened.torn = Torn{tail->torn->size(), crypto::sha256(*tail->torn)};
  if (!tail->ends_with_newline) {
    if (auto closed = write_all("\n"); !closed) return closed.error();
  }
  if (tail->last) {
    opened.head = head_;
    return opened;
  }
  sync_directory(options_.path);
  auto before = head_of_rotated();
  if (!before) return before;
  opened.head = before->head;
  return opened;
}

/// Returns the head of the newest rotated file, because the process may have ended after it renamed the full file and
/// before it wrote the first record of the next.
base::Result<Opened> FileSink::head_of_rotated() const {
  const auto files = rotated_files(options_.path);
  if (files.empty()) return Opened{};
  const std::string& newest = files.back();
  const int fd = ::open(newest.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return system_error("opening", newest);
  struct stat info {};
  const bool known = fstat(fd, &info) == 0;
  auto tail = tail_of(fd, newest, known ? static_cast<std::size_t>(info.st_size) : 0);
  ::close(fd);
  if (!tail) return tail.error();
  Opened opened;
  if (tail->last) opened.head = tail->last->head();
  return opened;
}

base::Status FileSink::write_all(const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(fd_, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put > 0) {
      done += static_cast<std::size_t>(put);
      continue;
    }
    auto error = failed("writing");
    // Remove the partial line. If that fails too, the next open() finds and reports the torn line.
    if (done > 0) (void)!ftruncate(fd_, static_cast<off_t>(size_));
    return error;
  }
  size_ += text.size();
  return base::Done{};
}

base::Status FileSink::append(const Line& line) {
  if (fd_ < 0) return base::unavailable(options_.path + " is not open");
  if (first_seq_ != 0 && size_ + line.text.size() + 1 > options_.max_size) {
    if (auto rotated = rotate(); !rotated) return rotated;
  }
  if (auto written = write_all(line.text + "\n"); !written) return written;
  if (first_seq_ == 0) first_seq_ = line.head.seq;
  head_ = line.head;
  return base::Done{};
}

base::Status FileSink::rotate() {
  if (auto synced = sync(); !synced) return synced;
  const auto name = rename_to_free_name(options_.path, first_seq_);
  if (!name) return name.error();
  if (rotated_) rotated_(*name, head_);
  close();
  if (auto opened = open_file(); !opened) return opened;
  first_seq_ = 0;
  sync_directory(options_.path);
  delete_oldest();
  return base::Done{};
}

void FileSink::delete_oldest() const {
  const auto files = rotated_files(options_.path);
  const auto kept = static_cast<std::size_t>(std::max(options_.max_files, 1) - 1);
  for (std::size_t i = 0; i + kept < files.size(); ++i) (void)unlink(files[i].c_str());
}

base::Status FileSink::sync() {
  if (fd_ < 0) return base::unavailable(options_.path + " is not open");
  struct stat ours {};
  struct stat there {};
  if (fdatasync(fd_) != 0) return failed("syncing");
  if (fstat(fd_, &ours) != 0 || stat(options_.path.c_str(), &there) != 0 || ours.st_ino != there.st_ino ||
      ours.st_dev != there.st_dev) {
    return base::unavailable(options_.path + " was moved or deleted while it was written");
  }
  if (static_cast<std::size_t>(there.st_size) < size_) {
    return base::unavailable(options_.path + " was truncated while it was written");
  }
  return base::Done{};
}

}  // namespace audit
