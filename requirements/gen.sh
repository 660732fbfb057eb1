#!/usr/bin/env bash
# Regenerate proto/recalld/v1/*_pb2*.py(i) with the pinned generator (.venv-gen).
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv-gen/bin/python
rm -f proto/recalld/v1/*_pb2*.py proto/recalld/v1/*_pb2.pyi
"$python" -m grpc_tools.protoc -Iproto -Iproto/third_party \
  --python_out=proto --pyi_out=proto --grpc_python_out=proto proto/recalld/v1/*.proto
