#pragma once

/// Kubeconfig files as values: reading, merging, choosing a context. Pure; no file is opened here.

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
  std::string ca_pem;   ///< decoded certificate-authority-data; wins over the file
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
  std::string auth_provider;  ///< name of a legacy provider, which nobody supports any more
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

/// Reads one file's text. `file` names it in errors and is what relative paths start from. Unknown fields are skipped,
/// as kubectl does; wrong types are errors that name the field. Never quotes a value.
base::Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file);

/// kubectl's rule for several files: the first that names something wins.
void merge(Kubeconfig& into, Kubeconfig next);

/// What a context leads to.
struct ChosenContext {
  KubeconfigContext context;
  KubeconfigCluster cluster;
  KubeconfigUser user;
};
/// `name` empty: the current context; with none, the only one. Errors name what is missing and what there is.
base::Result<ChosenContext> choose_context(const Kubeconfig& config, const std::string& name);

}  // namespace kube
