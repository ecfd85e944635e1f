#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/json/json.hpp"
#include "base/clock.hpp"
#include "base/crypto/key.hpp"
#include "base/log.hpp"
#include "base/result.hpp"
#include "kube/client.hpp"

namespace controllers {

/// The keys with which the operator signs, shared by all its replicas. Thread-safe.
class KeySource {
 public:
  virtual ~KeySource() = default;
  /// Called every second or so; cheap while nothing is due. `leads`: it may make and rotate keys, else it only reads
  /// them. May call the API server.
  virtual void refresh(bool leads) = 0;
  /// nullptr: there are none (yet). Then nothing can be signed, and nothing that is signed can be recognised.
  virtual std::shared_ptr<const signing::KeyRing> keys() const = 0;
  /// Why there are none, or why the last look failed; empty: all is well.
  virtual std::string problem() const = 0;
};

/// One random key of this process, shared by all who ask: for simulations and tests, where no second process has to
/// know it.
KeySource& keys_in_memory();

struct SecretKeyOptions {
  std::string ns;
  std::string name = "evacuator-signing";
  /// 0: never. What was signed with the key before still counts until the next rotation.
  base::Duration rotate_after = base::minutes(60 * 24 * 30);
};

/// On the Secret: when the current key was made. Whoever takes it off has the leader rotate at its next look.
inline constexpr std::string_view kRotatedAtAnnotation = "evacuator.dev/rotated-at";

/// What the Secret holds.
struct SecretContent {
  signing::KeyRing keys;
  std::optional<base::TimePoint> rotated_at;
};
/// An error says which part of it makes no sense.
base::Result<SecretContent> decode_signing_secret(const api::Json& secret);
/// `secret` (null: a new one) with these keys. Everything else that is in it stays.
api::Json encode_signing_secret(api::Json secret, const SecretKeyOptions& options, const SecretContent& content);

/// Keys in a Secret of the operator's namespace, which no tenant can read. The leader makes it when there is none (with
/// the current key that it knows, if any, as the previous one), and rotates. A Secret that cannot be read, or makes no
/// sense, is told and never overwritten; keys that were read before stay in use.
class SecretKeys final : public KeySource {
 public:
  /// The references must outlive it. Ages of keys go by `clock`; `steady`: of the time between two looks; nullptr:
  /// `clock`.
  SecretKeys(kube::Client& client, const base::Clock& clock, SecretKeyOptions options, base::Log log,
             const base::Clock* steady = nullptr);

  void refresh(bool leads) override;
  std::shared_ptr<const signing::KeyRing> keys() const override;
  std::string problem() const override;

  /// A change by another hand is noticed within this time; after a failure it is looked at again sooner.
  static constexpr base::seconds kLookEvery{60};
  static constexpr base::seconds kRetryEvery{5};

 private:
  base::Status look(bool leads);
  base::Status make();
  base::Status rotate(const api::Json& secret, const SecretContent& old);
  base::Status take(const SecretContent& content);
  void conclude(const base::Status& looked, bool leads);
  std::string where() const { return options_.ns + "/" + options_.name; }

  kube::Client& client_;
  const base::Clock& clock_;
  const base::Clock& steady_;
  const SecretKeyOptions options_;
  const base::Log log_;

  std::mutex refreshing_;  ///< one look at a time
  base::TimePoint next_look_ = base::TimePoint::min();
  bool led_ = false;

  mutable std::mutex mutex_;  ///< of what follows
  std::shared_ptr<const signing::KeyRing> keys_;
  std::string problem_;
};

}  // namespace controllers
