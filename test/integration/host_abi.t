#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Every tuner and env interface, called by the stand-in for NCCL.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCLBPF_JOB=abi

"$B/test/fakes/host/abi_check" "$B/libncclbpf.so" "$B/test/corpus/answers"
