#!/usr/bin/env bash
# Makes the virtual environment of the conformance tests, outside the tree, from pinned versions. Python is for us: a
# user of prl needs Node alone. `--print` names the interpreter and makes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=test/conformance/requirements.txt
home="${PRL_VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/prl/venv}"
if [ "${1:-}" = --print ]; then
  echo "$home/bin/python"
  exit
fi

stamp="$home/.installed-$(sha256sum "$requirements" | cut -c1-16)"
[ -e "$stamp" ] && exit
rm -rf "$home"
python3 -m venv "$home"
# verifiers brings a hundred packages: uv installs them in half a minute, pip in nearly two.
"$home/bin/pip" install --quiet --disable-pip-version-check uv==0.13.9
"$home/bin/uv" pip install --quiet --python "$home/bin/python" -r "$requirements"
touch "$stamp"
