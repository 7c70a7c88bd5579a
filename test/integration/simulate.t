#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# policy simulate: recorded decisions of a job, of a file, of the segment of a
# job that is gone, once more with candidates; what differs, and the estimate.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] ||
	skip_all "policy simulate" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCLBPF_JOB=sim \
	timeout 0 "$B/test/fakes/host/standin" --ranks 4 --procs --seconds inf --pause-ms 20 \
	--min 1M --max 64M --factor 4 --table "$TOP/test/fakes/vgpu/b300.csv" >sim.out 2>&1 &
host=$!
jobs="$jobs $host"
export NCCLBPF_JOB=sim
enough() { "$S" -q -o json decision tail count=64 | grep -qE '"seq":([4-9][0-9]|[1-9][0-9]{2,}),'; }
await enough
printf 'allreduce,16777216,33554431,ring,simple,-1,1,4\n' >ring.csv
printf 'allreduce,0,-1,pat,simple,-1,-1,-1\n' >pat.csv

# ---- a job's rings ----
status 0 "no policy decides as it did" policy simulate none
status 2 "a table" -o table policy simulate ring.csv
has "differs where it has a row" out "nvls/simple -> ring/simple" "answers differ" \
	"times estimated by NCCL's cost table, not measured" "more; limit=N shows more"
[ "$(grep -oE "[A-Z]+ %" out | sort -u)" = "SLOWER %" ] && grep -qE ' 16M .* \+[0-9.]+ ' out &&
	grep -qE '\(time \+[0-9.]+ %\)' out
ok "compares times alone: above 0 is slower" $?
status 2 "in JSON" -o json policy simulate ring.csv limit=3
lua_run -e 'local core = require "ncclbpf.core"
	local d = assert(core.decode(io.read "a")).data
	assert(#d.first == 3 and #d.rows == 4 and d.estimate:find "not measured")
	local n, differ = 0, 0
	for _, r in ipairs(d.rows) do
		n, differ = n + r.decisions, differ + r.differ
		assert(r.coll == "allreduce" and (r.bytes_from == 16777216) == (r.differ > 0)
			and (r.differ == 0 or r.differ == r.decisions))
		assert(r.estimated == r.decisions
			and (r.differ > 0) == (r.candidate_us > r.recorded_us), "estimate")
	end
	assert(n == d.decisions and differ == d.differ and n > 40)
	for _, f in ipairs(d.first) do
		assert(f.bytes == 16777216 and f.recorded == "nvls/simple"
			and f.candidate == "ring/simple" and f.candidate_us > f.recorded_us)
	end' <out 2>>why
ok "counts by collective and size, and the first of them" $?
status 0 "what NCCL does not offer changes nothing" policy simulate pat.csv
if [ -e "$B/policies/adaptive_channels.bpf.o" ]; then
	status 2 "an object, and a table behind it" \
		-o table policy simulate "$B/policies/adaptive_channels.bpf.o" ring.csv
	has "whose maps are the job's own: said" out "has the coherent map channels" \
		"has the local map" "answers may differ"
else
	ok "an object # SKIP no clang at build time" 0
fi
run policy load ring.csv
run policy use ring
await sh -c "'$S' -q -o json decision tail count=8 | grep -q '\"by\":\"ring\"'"
turned() { # decisions with it alone are in the rings of 1024 lines: those of one file
	"$S" -q -o ndjson decision tail count=40 >new.ndjson &&
		"$S" policy simulate ring data=new.ndjson >/dev/null
}
await turned
ok "a policy in use decides as the job has" $?
status 2 "and no policy does not" policy simulate none data=new.ndjson
printf 'allreduce,16777216,33554431,ring,ll128,-1,1,4\n' >ll128.csv
status 2 "nor the same algorithm by another protocol" -o table policy simulate ll128.csv \
	data=new.ndjson
has "which is a way of its own" out "ring/simple -> ring/ll128"

# ---- files ----
"$S" -o ndjson decision tail count=100 >rec.ndjson
"$S" -o json decision tail count=100 >rec.json
run policy use none
status 2 "a file of lines" policy simulate none data=rec.ndjson
status 2 "a file of JSON" policy simulate none data=rec.json
status 66 "a file that is not there" policy simulate ring data=nowhere
if [ -e "$B/policies/cheap_ring.policy" ]; then
	# as if NCCL had chosen tree/ll128, and the policy the cheaper ring/ll128
	sed -n '/"bytes":1048576,/s/"nccl_algo":"ring"/"nccl_algo":"tree"/p' rec.ndjson \
		>costs.ndjson
	status 0 "a policy that asks for NCCL's costs gets those of the record" -o table policy \
		simulate "$B/policies/cheap_ring.policy" data=costs.ndjson
	! grep -q 'cheap_ring asks' out
	ok "and no note" $?
	status 0 "and those of a grid are of such a file, too" -o csv policy run \
		"$B/policies/cheap_ring.policy" costs=costs.ndjson
	has "with one question" out "allreduce,1048576,1048576,ring,ll128,,,1,4"
	sed 's/"costs_us":\[[^]]*\]/"costs_us":null/' costs.ndjson >none.ndjson
	status 2 "a record without costs" -o table policy simulate "$B/policies/cheap_ring.policy" \
		data=none.ndjson
	has "has a note" out "ring/ll128 -> tree/ll128" "cheap_ring asks for NCCL's costs" \
		"are not known here"
else
	ok "NCCL's costs # SKIP no clang at build time" 0
fi
fault() { # NAME SED
	sed "$2" rec.ndjson >b.ndjson
	fails 65 malformed "fault: $1" policy simulate ring.csv data=b.ndjson
}
fault "usable below 0" '2s/"usable":[0-9]*/"usable":-1/'
fault "ranks that are no number" '3s/"ranks":4/"ranks":"x"/'
fault "no bytes" 's/"bytes":/"bites":/'
fault "no collective" 's/"allreduce"/"allredcue"/'
fault "no context" 's/"context"/"contxt"/'
fault "no algorithm" 's/"algo":"ring"/"algo":"rnig"/;s/"algo":"nvls"/"algo":"rnig"/'
fault "not JSON" '1s/.$//'
fault "no decision" 'd'
status 64 "both kinds of record" policy simulate ring.csv data=rec.json segment=x
status 64 "limit= that is no number" policy simulate ring.csv limit=many
status 66 "a candidate that is not there" policy simulate nowhere.csv
printf 'allreduce,0,9,ring,ll,0,-1,-1\n' >bad.csv
status 65 "a table with a fault" policy simulate bad.csv data=rec.json

# ---- a job that is gone ----
pids=$(ls s | sed -n 's/^sim\..*\.\([0-9]*\)\.sock$/\1/p')
lose $(pgrep -P "$host") $host $pids
wait $host 2>/dev/null
await all_ended $pids
status 2 "the segment of one that was killed" -o table policy simulate ring.csv segment=s/sim.seg
has "holds its last decisions" out "recorded decisions with ring" "nvls/simple -> ring/simple"
status 65 "what is no segment" policy simulate ring.csv segment=rec.json
status 66 "nor is there" policy simulate ring.csv segment=s/none.seg
status 69 "without a job there is nothing recorded" policy simulate ring.csv
messages
