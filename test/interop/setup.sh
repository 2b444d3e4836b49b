#!/bin/sh
# Makes the Python environments of the interop tests: .venv-v1 and .venv-v2, each with the packages its requirements pin.
# An environment that has them already is left as it is.
set -eu
cd "$(dirname "$0")"

has_python() {
  python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

if ! has_python && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq >/dev/null
  apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
fi
if ! has_python; then
  echo 'The interop tests need python3 (3.10 or newer) with venv on the PATH.' >&2
  echo '  Debian, Ubuntu: sudo apt-get install python3-venv' >&2
  exit 1
fi

for version in v1 v2; do
  pinned=requirements-$version.txt
  made=.venv-$version/made-from.txt
  if ! cmp -s "$pinned" "$made"; then
    rm -rf ".venv-$version"
    python3 -m venv ".venv-$version"
    ".venv-$version/bin/pip" install --quiet --disable-pip-version-check --no-input -r "$pinned"
    cp "$pinned" "$made"
  fi
done
