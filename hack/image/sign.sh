#!/usr/bin/env bash
# Signs the digest of an image like cosign: a small JSON text that contains it, and a signature of that text.
# usage: hack/image/sign.sh IMAGE DIGEST PREFIX     writes PREFIX.payload.json and PREFIX.sig
# Without IMAGE_KEY (a private key in a PEM file, such as an EC key on P-256) it removes both and prints a message.
set -euo pipefail

name=$(sed -E 's/@.*$//; s/:[^:/]*$//' <<<"$1") digest=$2 prefix=$3 # without tag; a port stays
rm -f "$prefix.payload.json" "$prefix.sig"
if [[ -z ${IMAGE_KEY:-} ]]; then
  echo "image: not signed: no IMAGE_KEY is given (${prefix##*/})" >&2
  exit
fi
jq -njc --arg name "$name" --arg digest "$digest" '{critical: {identity: {"docker-reference": $name},
  image: {"docker-manifest-digest": $digest}, type: "cosign container image signature"}, optional: null}' >"$prefix.payload.json"
openssl dgst -sha256 -sign "$IMAGE_KEY" -out "$prefix.sig.der" "$prefix.payload.json"
base64 -w 0 "$prefix.sig.der" >"$prefix.sig"
rm "$prefix.sig.der"
echo "image: signed with $IMAGE_KEY: ${prefix##*/}.sig" >&2
