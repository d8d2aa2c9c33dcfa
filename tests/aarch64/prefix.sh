#!/bin/sh
# Installs what `vprof` and its tests need to instrument for aarch64 here: the wrapper and rewriter of this machine, the
# runtime of aarch64, and the programs among it behind scripts that emulate them.
# usage: prefix.sh BUILD CROSS_BUILD PREFIX
set -eu
build=$1 cross=$2 prefix=$3
cmake --install "$build/instrumenter" --prefix "$prefix" >/dev/null
cmake --install "$cross" --prefix "$prefix" >/dev/null
for program in vprof-collector vprof-calibrate; do
  path=$prefix/lib/vprof/$program
  mv "$path" "$path.aarch64"
  cp "$(dirname "$0")/emulated.sh" "$path"
  chmod +x "$path"
done
