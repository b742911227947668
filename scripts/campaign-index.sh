#!/usr/bin/env bash
# Indexes a run of many gigabytes, killed again and again, under a limit of its memory; docs/campaigns.md.
# usage: campaign-index.sh FOLDER [--shape A] [--bytes 8GB] [--kills 10] [--passes 5] [--jobs 2] [--seed 1]
set -euo pipefail
cd "$(dirname "$0")/.."

# Only a memory cgroup can hold Node to a limit: V8 reserves far more address space than it uses, so that `ulimit -v`
# and `prlimit --data` end it at its start.
limit=()
scope=(systemd-run --quiet --scope -p MemoryMax=512M -p MemorySwapMax=0)
if [[ $(id -u) == 0 && -w /sys/fs/cgroup/cgroup.procs ]] && grep -qw memory /sys/fs/cgroup/cgroup.controllers &&
  "${scope[@]}" true 2>/dev/null; then
  limit=(--limit-with "${scope[*]}")
fi
exec node scripts/campaign-index.mjs "$@" ${limit[@]+"${limit[@]}"}
