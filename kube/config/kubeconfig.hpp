#pragma once

/// Parses and merges kubeconfig files and chooses a context. Pure; does not open files.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "kube/config/credentials.hpp"

namespace kube {

struct KubeconfigCluster {
  std::string name;
  std::string server;
  std::string tls_server_name;
  bool insecure_skip_tls_verify = false;
  std::string ca_file;  ///< absolute, or relative to the working directory
  std::string ca_pem;   ///< decoded certificate-authority-data; takes precedence over the file
  std::string proxy_url;
};

struct KubeconfigUser {
  std::string name;
  std::string token;
  std::string token_file;
  std::string username;
  std::string password;
  std::string client_certificate_file;
  std::string client_certificate_pem;
  std::string client_key_file;
  std::string client_key_pem;
  std::optional<ExecPlugin> exec;
  std::string auth_provider;  ///< name of a legacy auth provider, which is unsupported
};

struct KubeconfigContext {
  std::string name;
  std::string cluster;
  std::string user;
  std::string ns;
};

struct Kubeconfig {
  std::vector<KubeconfigCluster> clusters;
  std::vector<KubeconfigUser> users;
  std::vector<KubeconfigContext> contexts;
  std::string current_context;
};

/// Parses the text of one file. `file` names it in errors and is the base of relative paths. Skips unknown fields, like
/// kubectl. Wrong types are errors that name the field and never quote a value.
base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);

/// Merges by kubectl's rule: the first file that defines a name takes precedence.
void merge(Kubeconfig& into, Kubeconfig next);

/// Context with the cluster and user that it refers to.
struct ChosenContext {
  KubeconfigContext context;
  KubeconfigCluster cluster;
  KubeconfigUser user;
};
/// Returns the context `name`, or if empty the current context, or the only one. Errors name the missing entry and the
/// existing ones.
base::Result<ChosenContext> choose_context(const Kubeconfig& config, const std::string& name);

}  // namespace kube
