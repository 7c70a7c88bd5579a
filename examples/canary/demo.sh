#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: a policy is tried on one of three communicators, and promoted
# to all; a bad one is tried likewise, and never reaches the others.
. "$(dirname "$0")/../three.sh"
do_ 0 policy load "$B/policies/nvlink_ring_mid.policy"
do_ 0 policy load "$B/examples/rollout/one_channel.bpf.o"

do_ 2 rollout start examples/canary/one_channel.lua
do_ 0 rollout history
for c in 0 1 2; do decides c0ffee000000000$c ""; done
exposed=$(ncclbpf-shell -o json rollout history | grep -o '"exposed":[0-9]*' | tail -1 | tr -dc 0-9)
[ "${exposed:-9999}" -le 2000 ] ||
	fail "the bad policy decided $exposed collectives, more than 2000"

do_ 0 rollout start examples/canary/ring_mid.lua
do_ 0 comm list
for c in 0 1 2; do decides c0ffee000000000$c '"nvlink_ring_mid"'; done
do_ 0 check agreement
