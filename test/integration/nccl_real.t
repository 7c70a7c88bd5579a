#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: cpu  limit: 600
# The plugin inside the real libnccl on virtual GPUs: it is called, its answer is launched,
# impossible answers are not, and policies change under load in four processes without a hang.
. "$TOP/test/integration/nccl_real_lib.sh"
RANKS=4 CHANGES=3
# shellcheck disable=SC2086
run NCCLBPF_POLICY="$answers/ring_ll_four.policy" "$job" $few
say $? "a job with a policy"
launched=$(grep -c 'launch.*AllReduce' "$dir/log")
obeyed=$(grep -c 'launch.*AllReduce.*RING/LL channels 0\.\.3,' "$dir/log")
[ "$launched" -gt 0 ] && [ "$launched" -eq "$obeyed" ]
say $? "every launch is what the policy chose ($obeyed of $launched: Ring, LL, 4 channels)"

for p in wild unusable; do
	# shellcheck disable=SC2086
	run "$job" $few
	grep -o 'AllReduce.*bytes' "$dir/log" | sort | uniq -c >"$dir/want"
	# shellcheck disable=SC2086
	run NCCLBPF_POLICY="$answers/$p.policy" "$job" $few
	rc=$?
	grep -o 'AllReduce.*bytes' "$dir/log" | sort | uniq -c >"$dir/got"
	[ $rc -eq 0 ] && [ -s "$dir/got" ] && cmp -s "$dir/want" "$dir/got"
	say $? "policy $p: NCCL launches its own choices"
done

events "events of 2 processes" --procs --ranks 2
broadcasts "broadcasts of two roots"
alone "broadcasts of two roots, ncclbpf as profiler alone"
live "4 processes" --procs
uncounted "4 processes without a profiler" --procs
echo "1..$n"
exit $bad
