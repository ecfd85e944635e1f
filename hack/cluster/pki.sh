# shellcheck shell=bash
# One certificate authority per cluster, its certificates, and kubeconfigs that contain them.

readonly KEY_KIND=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)

make_authority() {
  openssl req -x509 "${KEY_KIND[@]}" -days 30 -subj "/CN=evacuator-cluster-ca" \
    -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign,digitalSignature" \
    -keyout "$DIR/pki/ca.key" -out "$DIR/pki/ca.crt" 2>"$DIR/logs/openssl.log" ||
    blame openssl "cannot make the certificate authority"
}

# SUBJECT contains the identity for Kubernetes: O is the group, CN the user.
issue() { # issue NAME SUBJECT [SUBJECT_ALT_NAMES]
  local base="$DIR/pki/$1" extensions="extendedKeyUsage=serverAuth,clientAuth"
  [[ -z ${3:-} ]] || extensions+=$'\n'"subjectAltName=$3"
  {
    openssl req -new "${KEY_KIND[@]}" -subj "$2" -keyout "$base.key" -out "$base.csr" &&
      openssl x509 -req -in "$base.csr" -days 30 -CA "$DIR/pki/ca.crt" -CAkey "$DIR/pki/ca.key" \
        -set_serial "0x$(openssl rand -hex 16)" -extfile <(printf '%s\n' "$extensions") -out "$base.crt"
  } 2>"$DIR/logs/openssl.log" || blame openssl "cannot issue the certificate $1"
  rm "$base.csr"
}

# Creates the key pair for signing service account tokens.
make_token_keys() {
  openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$DIR/pki/tokens.key" 2>/dev/null
  openssl pkey -in "$DIR/pki/tokens.key" -pubout -out "$DIR/pki/tokens.pub"
}

# CREDENTIALS is the user's part as YAML lines indented by four.
write_kubeconfig() { # write_kubeconfig FILE USER CREDENTIALS [NAMESPACE]
  (umask 077 && cat >"$1.new") <<EOF
apiVersion: v1
kind: Config
clusters:
- name: evacuator
  cluster:
    server: https://127.0.0.1:$API_PORT
    certificate-authority-data: $(base64 -w 0 "$DIR/pki/ca.crt")
users:
- name: $2
  user:
$3
contexts:
- name: $2@evacuator
  context:
    cluster: evacuator
    user: $2
    namespace: ${4:-default}
current-context: $2@evacuator
EOF
  mv "$1.new" "$1"
}

certificate_credentials() { # certificate_credentials NAME
  printf '    client-certificate-data: %s\n    client-key-data: %s\n' \
    "$(base64 -w 0 "$DIR/pki/$1.crt")" "$(base64 -w 0 "$DIR/pki/$1.key")"
}

issue_kubeconfig() { # issue_kubeconfig NAME SUBJECT [SUBJECT_ALT_NAMES]
  issue "$1" "$2" "${3:-}"
  write_kubeconfig "$DIR/pki/$1.kubeconfig" "$1" "$(certificate_credentials "$1")"
}
