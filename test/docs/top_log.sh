# shellcheck shell=bash
# Creates top.log in the working folder: four days of `kubectl top pods -A --containers`, every five minutes, of the pods of
# dump.json in namespace shop. Sourced by command_blocks.py.

jq -r '.items[] | select(.kind == "Pod" and .metadata.namespace == "shop") | . as $pod | .spec.containers[] |
  [$pod.metadata.namespace, $pod.metadata.name, .name] | @tsv' dump.json >containers.tsv
for ((minute = 4 * 24 * 60; minute > 0; minute -= 5)); do
  date -u -d "@$(($(date +%s) - minute * 60))" '+# %FT%TZ'
  awk -v load=$((50 + minute % 100)) '{ printf "%s %s %s %dm 100Mi\n", $1, $2, $3, load }' containers.tsv
done >top.log
