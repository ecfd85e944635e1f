#include "kube/config/credentials.hpp"

#include <mutex>

#include "kube/config/files.hpp"

namespace kube {
namespace {

constexpr base::seconds kReadAgainAfter{30};

class StaticCredentials final : public Credentials {
 public:
  explicit StaticCredentials(Presented presented) : presented_(std::move(presented)) {}
  base::Result<Presented> present() override { return presented_; }

 private:
  const Presented presented_;
};

base::Result<std::string> read_token(const std::string& path) {
  auto content = read_file(path);
  if (!content) return std::move(content).error().during("reading the token");
  auto header = bearer(trim(*content));
  if (!header) return std::move(header).error().during(path);
  return header;
}

class FileCredentials final : public Credentials {
 public:
  FileCredentials(CredentialFiles files, const base::Clock& clock) : files_(std::move(files)), clock_(clock) {}

  base::Result<Presented> present() override {
    const std::scoped_lock lock(mutex_);
    const base::TimePoint now = clock_.now();
    const bool is_young = read_at_ && now >= *read_at_ && now - *read_at_ < kReadAgainAfter;
    if (current_ && is_young) return *current_;
    if (auto allowed = check_target(); !allowed) {
      current_.reset();
      return std::move(allowed).error();
    }
    auto fresh = read_all();
    if (!fresh && !current_) return fresh;
    if (fresh) current_ = *std::move(fresh);
    read_at_ = now;
    return *current_;
  }

  void refused() override {
    const std::scoped_lock lock(mutex_);
    read_at_.reset();
  }

 private:
  base::Status check_target() const {
    if (!files_.target) return base::Done{};
    for (const std::string& file : {files_.token_file, files_.client_certificate_file, files_.client_key_file}) {
      if (file.empty()) continue;
      if (auto allowed = may_send_file(file, *files_.target); !allowed)
        return base::Error{base::ErrorCode::kUnauthorized, std::move(allowed).error().message};
    }
    return base::Done{};
  }

  base::Result<Presented> read_all() const {
    Presented next = files_.embedded;
    if (next.authorization.empty() && !files_.token_file.empty()) {
      auto header = read_token(files_.token_file);
      if (!header) return std::move(header).error();
      next.authorization = *std::move(header);
    }
    if (auto read = fill(next.client_certificate_pem, files_.client_certificate_file); !read) return read.error();
    if (auto read = fill(next.client_key_pem, files_.client_key_file); !read) return read.error();
    return next;
  }

  static base::Status fill(std::string& text, const std::string& path) {
    if (!text.empty() || path.empty()) return base::Done{};
    auto content = read_file(path);
    if (!content) return std::move(content).error().during("reading the client certificate");
    text = *std::move(content);
    return base::Done{};
  }

  const CredentialFiles files_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::optional<Presented> current_;
  std::optional<base::TimePoint> read_at_;
};

}  // namespace

std::shared_ptr<Credentials> static_credentials(Presented presented) {
  return std::make_shared<StaticCredentials>(std::move(presented));
}

std::shared_ptr<Credentials> file_credentials(CredentialFiles files, const base::Clock& clock) {
  return std::make_shared<FileCredentials>(std::move(files), clock);
}

base::Result<std::string> bearer(std::string_view token) {
  if (token.empty()) return base::invalid("the token is empty");
  for (const char c : token) {
    if (static_cast<unsigned char>(c) <= 0x20 || static_cast<unsigned char>(c) >= 0x7f)
      return base::invalid("the token contains an invalid character (blank, line break or not ASCII)");
  }
  return "Bearer " + std::string(token);
}

}  // namespace kube
