#!/bin/sh
# What Debian has no cross packages of, for toolchain.cmake: static libraries and GoogleTest out of arm64's packages,
# below FOLDER. Nothing is installed, and this machine's own packages stay as they are.
# usage: packages.sh FOLDER
set -eu
folder=$1
[ -e "$folder/complete" ] && exit
mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
cd "$folder"
as_arm64() {
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists="$folder/lists" \
    -o Dir::Cache="$folder/cache" -o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)" "$@"
}
as_arm64 update
as_arm64 download libdeflate-dev liblz4-dev libzstd-dev libgtest-dev libgmock-dev
for package in *.deb; do dpkg-deb -x "$package" .; done
rm -rf ./*.deb lists cache
touch complete
