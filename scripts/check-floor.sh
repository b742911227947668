#!/usr/bin/env bash
# Uploads a real run, reads it back and makes its index anew, under the oldest Node that package.json allows.
set -euo pipefail
cd "$(dirname "$0")/.."

floor=$(node -p "require('./package.json').engines.node.replace(/^>=/, '')")
[[ "$floor" == *.*.* ]] || floor="$floor.0"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

echo '{"private":true,"allowScripts":{"node":true}}' >"$folder/package.json"
npm install --silent --no-save --prefix "$folder" "node@$floor"
old="$folder/node_modules/.bin/node"
cp -r fixtures/runs/prime-rl-stream "$folder/run"
answer=$(PRL_DATA_DIR="$folder/data" "$old" bin/run.js upload "$folder/run" --local --verify --json)
echo "$("$old" --version): $answer"
[[ "$answer" == *'"verified":{"episodes":16,"ok":true}'* ]]

"$old" bin/run.js index "$folder/run" --rows --strict | cmp - "$folder/run/monitors/file/traces/stream.index.jsonl"
