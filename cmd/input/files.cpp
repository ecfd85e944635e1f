#include "cmd/input/files.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace cmd {
namespace {

namespace fs = std::filesystem;

base::Error too_large(std::size_t limit) { return base::invalid(fmt::format("larger than {} MiB", limit >> 20)); }

base::Result<std::string> read_stream(std::istream& stream, std::size_t limit) {
  std::string bytes;
  std::vector<char> piece(std::size_t{1} << 20);
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
    if (bytes.size() > limit) return too_large(limit);
  }
  if (stream.bad()) return base::invalid("cannot be read completely");
  return bytes;
}

/// RAII wrapper of zlib's inflate state.
class Inflater {
 public:
  Inflater() : ready_(inflateInit2(&state_, kGzip) == Z_OK) {}
  ~Inflater() {
    if (ready_) inflateEnd(&state_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Decompresses all members of a gzip file and concatenates them.
  base::Result<std::string> unpack(std::string_view packed, std::size_t limit) {
    if (!ready_) return base::unavailable("out of memory for gzip");
    std::string text;
    while (is_gzip(packed)) {
      if (auto done = unpack_member(packed, limit, text); !done) return done.error();
    }
    return text;
  }
  static bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

 private:
  static constexpr int kGzip = 15 + 16;  // maximum window size, with gzip header

  base::Status unpack_member(std::string_view& packed, std::size_t limit, std::string& text) {
    inflateReset(&state_);
    std::vector<char> piece(std::size_t{1} << 18);
    for (int code = Z_OK; code != Z_STREAM_END;) {
      // zlib uses 32-bit counters
      const auto given = static_cast<uInt>(std::min(packed.size(), std::size_t{1} << 30));
      state_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
      state_.avail_in = given;
      state_.next_out = reinterpret_cast<Bytef*>(piece.data());
      state_.avail_out = static_cast<uInt>(piece.size());
      code = inflate(&state_, Z_NO_FLUSH);
      packed.remove_prefix(given - state_.avail_in);
      text.append(piece.data(), piece.size() - state_.avail_out);
      if (text.size() > limit) return too_large(limit).during("unpacked");
      if (code == Z_BUF_ERROR) return base::invalid("gzip: unexpected end; was the file truncated?");
      if (code != Z_OK && code != Z_STREAM_END) return base::invalid("gzip: damaged");
    }
    return base::Done{};
  }

  z_stream state_{};
  bool ready_;
};

struct Signature {
  std::size_t at;
  std::string_view bytes;
  const char* advice;
};
constexpr std::array kSignatures = {
    Signature{0, "PK\x03\x04", "is a zip archive: unpack it, and pass the directory"},
    Signature{0, "PK\x05\x06", "is an empty zip archive"},
    Signature{257, "ustar", "is a tar archive: unpack it (tar xf), and pass the directory"},
    Signature{0, "\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first (zstd -d)"},
    Signature{0,
              "\xfd"
              "7zXZ",
              "is compressed with xz: unpack it first (xz -d)"},
    Signature{0, "BZh", "is compressed with bzip2: unpack it first (bzip2 -d)"},
};

base::Status check_signature(std::string_view bytes) {
  for (const Signature& each : kSignatures) {
    if (bytes.size() > each.at && bytes.substr(each.at).starts_with(each.bytes)) return base::invalid(each.advice);
  }
  return base::Done{};
}

void append_utf8(std::string& text, char32_t code) {
  const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
  if (code < 0x80) {
    text += byte(code);
  } else if (code < 0x800) {
    text += {byte(0xC0 | code >> 6), byte(0x80 | (code & 0x3F))};
  } else if (code < 0x10000) {
    text += {byte(0xE0 | code >> 12), byte(0x80 | (code >> 6 & 0x3F)), byte(0x80 | (code & 0x3F))};
  } else {
    text += {byte(0xF0 | code >> 18), byte(0x80 | (code >> 12 & 0x3F)), byte(0x80 | (code >> 6 & 0x3F)),
             byte(0x80 | (code & 0x3F))};
  }
}

/// Converts UTF-16, which Windows PowerShell's `>` writes.
base::Result<std::string> from_utf16(std::string_view bytes, bool little_endian) {
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<char32_t>(little_endian ? second << 8 | first : first << 8 | second);
  };
  const base::Error damaged = base::invalid("UTF-16: invalid; write the file as UTF-8");
  if (bytes.size() % 2 != 0) return damaged;
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    char32_t code = unit(i);
    if (code >= 0xD800 && code < 0xE000) {
      const char32_t low = i + 3 < bytes.size() ? unit(i + 2) : 0;
      if (code >= 0xDC00 || low < 0xDC00 || low >= 0xE000) return damaged;
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 2;
    }
    append_utf8(text, code);
  }
  return text;
}

bool has_known_name(const fs::path& path) {
  constexpr std::array<std::string_view, 5> kExtensions = {".json", ".jsonl", ".ndjson", ".yaml", ".yml"};
  const std::string extension = (path.extension() == ".gz" ? path.stem() : path).extension().string();
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

bool is_archive(const fs::path& path) {
  constexpr std::array<std::string_view, 6> kExtensions = {".tar", ".tgz", ".zip", ".gz", ".xz", ".zst"};
  return std::ranges::find(kExtensions, path.extension().string()) != kExtensions.end();
}

}  // namespace

std::string shown_path(const std::string& path) { return path == "-" ? "standard input" : path; }

base::Result<std::string> read_file(const std::string& path, std::size_t limit) {
  const bool is_input = path == "-";
  std::error_code error;
  if (!is_input && fs::is_directory(path, error)) return base::invalid(path + ": is a directory");
  std::ifstream file;
  if (!is_input) file.open(path, std::ios::binary);
  if (!file) return base::invalid(fmt::format("{}: {}", path, std::strerror(errno)));
  auto bytes = read_stream(is_input ? std::cin : file, limit);
  return bytes ? std::move(bytes) : bytes.error().during(shown_path(path));
}

base::Result<std::string> text_of(std::string bytes, std::size_t limit) {
  if (Inflater::is_gzip(bytes)) {
    auto unpacked = Inflater().unpack(bytes, limit);
    if (!unpacked) return unpacked;
    bytes = *std::move(unpacked);
  }
  if (auto known = check_signature(bytes); !known) return known.error();
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return from_utf16(std::string_view(bytes).substr(2), bytes[0] == '\xff');
  if (bytes.starts_with("\xef\xbb\xbf")) bytes.erase(0, 3);
  if (bytes.find('\0') != std::string::npos) return base::invalid("is not a text file: it contains bytes of value 0");
  return bytes;
}

base::Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  auto bytes = read_file(path, limit);
  if (!bytes) return bytes;
  auto text = text_of(*std::move(bytes), limit);
  return text ? std::move(text) : text.error().during(shown_path(path));
}

base::Result<FileSet> files_of(const std::string& path) {
  FileSet set;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    set.files.push_back(path);
    return set;
  }
  set.is_directory = true;
  std::string archive;  // the first one by name
  fs::recursive_directory_iterator at(path, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) {
      at.disable_recursion_pending();
    } else if (at->is_regular_file(error)) {
      if (has_known_name(at->path())) {
        set.files.push_back(at->path().string());
      } else {
        ++set.foreign;
        if (is_archive(at->path()) && (archive.empty() || at->path().string() < archive)) archive = at->path().string();
      }
    }
  }
  if (error) return base::invalid(fmt::format("{}: {}", path, error.message()));
  if (set.files.empty())
    return base::invalid(path + ": no .json, .yaml or .yml file in this directory or below it" +
                         (archive.empty() ? "" : "; unpack " + archive + " first"));
  std::ranges::sort(set.files);
  return set;
}

}  // namespace cmd
