#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900
# Rules of public tuners, written anew as policies (test/corpus/rules): each answers 100,000
# questions as its rule does, which the test has once more in Lua. The suite compare has the eighth,
# NVIDIA's CSV tuner.
. "$TOP/test/integration/shell_lib.sh"
R=$B/test/corpus/rules
[ -e "$R/aws_model.bpf.o" ] || skip_all "rules" "no clang at build time"
trap finish EXIT
cd "$T" || exit 1
cp "$R"/*.bpf.o "$TOP"/test/corpus/rules/*.lua "$TOP"/test/corpus/rules/*.json .
cp "$B/policies/gfx950_allreduce.policy" .
sed -i 's/\.bpf\.c"/.bpf.o"/' ./*_test.lua
many() { sed -n 's/^#   \([0-9]*\) questions, 0 .*/\1/p' out | sort -n | tail -n 1; }
for rule in nvidia_basic aws_regions aws_model rccl_ranges gfx950_allreduce ncclx_rules vllm_custom
do
	status 0 "$rule" policy test "${rule}_test.lua"
	[ "$(many)" -ge 100000 ]
	ok "at 100,000 questions or more" $?
done
# Another corner, latency, range and limit.
differs() { # RULE OLD NEW
	sed "s/$2/$3/" "$1_test.lua" >other_test.lua
	! cmp -s other_test.lua "$1_test.lua"
	ok "the rule of $1 with $3" $?
	status 2 "is another one" policy test other_test.lua
}
differs aws_regions 'P, Q, R = { 150994944,' 'P, Q, R = { 150000000,'
differs aws_model 18700 18600
differs vllm_custom 'c.bytes < limit' 'c.bytes <= limit'
