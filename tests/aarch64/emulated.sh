#!/bin/sh
# A program for aarch64 that has been put aside, by its own name: programs that start it need not know of qemu.
exec qemu-aarch64-static -L /usr/aarch64-linux-gnu "$0.aarch64" "$@"
