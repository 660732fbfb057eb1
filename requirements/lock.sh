#!/usr/bin/env bash
# Renew requirements/*.lock: every version and hash, no host names.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet pip-tools
compile() {
  "$work/venv/bin/pip-compile" --quiet --generate-hashes --strip-extras --no-emit-index-url \
    --no-emit-trusted-host --no-emit-find-links --no-annotate --no-header --allow-unsafe --output-file "$1" "${@:2}"
}
compile requirements/dev.lock --extra server --extra model --extra dev pyproject.toml
compile requirements/peers.lock --extra peers pyproject.toml
echo "grpcio-tools==1.76.0" > "$work/gen.in"
compile requirements/gen.lock "$work/gen.in"
