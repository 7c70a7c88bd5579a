#!/bin/bash
# SPDX-License-Identifier: MIT
# demo.sh BUILD: a policy that breaks a service level is taken back, whatever
# the baseline takes.
. "$(dirname "$0")/../three.sh"
do_ 0 policy load "$B/examples/rollout/one_channel.bpf.o"
do_ 0 rollout plan examples/slo-guard/slo.lua
do_ 2 rollout start examples/slo-guard/slo.lua
do_ 0 rollout history
for c in 0 1 2; do decides c0ffee000000000$c ""; done
ncclbpf-shell -o json rollout history | grep -q '"guard":"slo"' ||
	fail "it was not the service level"
do_ 0 check agreement
