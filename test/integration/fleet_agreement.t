#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: etcd
# check agreement over two sites: ranks that agree; a site whose ranks agree
# with one another and not with the other site's (a map of that site alone has another
# value, accepted with NCCLBPF_COHERENCE=off); a site that does not answer; and the segment
# files that both sites leave when the job is killed.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "agreement of two sites"
enter_store
cat >by_site.bpf.c <<'END'
#include "ncclbpf_policy.h"
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, __u32);
	__type(value, __u32);
	__uint(max_entries, 1);
} wish SEC(".maps");
SEC("tuner") int by_site(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0, *value = bpf_map_lookup_elem(&wish, &key);

	ctx->algo = NCCL_ALGO_RING;
	ctx->proto = NCCL_PROTO_SIMPLE;
	if (value && *value && ctx->seq >= *value)
		ctx->proto = NCCL_PROTO_LL;
	return 0;
}
END
store_of agree
NCCLBPF_FLEET=$fleet serve agree a b
services=$!
NCCLBPF_FLEET="$fleet" NCCLBPF_JOB=agree NCCL_TUNER_PLUGIN="$B/libncclbpf.so" \
	NCCLBPF_COHERENCE=off NCCLBPF_SOCKET_DIR="$T/a" timeout 0 "$B/test/fakes/host/standin" \
	--ranks 4 --nodes 2 --procs --min 4M --max 32M --seconds inf --pause-ms 5 --hang \
	--rank-env 0:RANK=0 --rank-env 1:RANK=1 --rank-env 2:RANK=2 --rank-env 3:RANK=3 \
	--rank-env "2:NCCLBPF_SOCKET_DIR=$T/b" --rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
job=$!
jobs="$jobs $job"
await registered
need "two sites run the job" $?
ask() { run --fleet "$fleet" -J agree "$@"; }
agreed() {
	ask -o table check agreement &&
		grep -q "4 of 4 ranks of 2 sites, compared up to decision [1-9][0-9]*: agree" out
}
await agreed
ok "the ranks of both sites are compared, and agree" $?
comm=$(ask -o json check agreement && sed -n 's/.*"comm":"\([0-9a-f]*\)".*/\1/p' out | head -1)
status 0 "one communicator" --fleet "$fleet" -J agree -o json check agreement comm="$comm"
[ "$(grep -o '"site":' out | wc -l)" -eq 4 ] && grep -q '"sites":2' out && grep -q '"rank":3' out
ok "its members have site and rank" $?

status 0 "a policy that reads a local map" --fleet "$fleet" -J agree policy use ./by_site.bpf.c
await agreed
ok "ranks agree while the map is the same" $?
# From a decision on that no rank has made yet, as both ranks of the site get the value one by one.
# A number that is never reached tells how many decisions are made meanwhile.
up_to() {
	ask -o table check agreement
	sed -n 's/.*compared up to decision \([0-9]*\):.*/\1/p' out | head -1
}
wish() { NCCLBPF_SOCKET_DIR=$T/b run -J agree map set wish 0 "$1"; }
before=$(up_to)
wish 4000000000
now=$(up_to)
number=$((now + 4 * (now - before) + 2000))
wish $number
ok "one site gets another value" "$rc"
differ() { ask -o table check agreement; [ "$rc" -eq 2 ] && grep -q DISAGREE out; }
await differ
ok "the ranks disagree: status 2" $?
grep -q "the first decision that differs is number $number:" out
ok "the first decision that differs is named" $?
named() { # the rank of each site that has come to it
	differ
	site_a=$(sed -n 's/.*ring\/simple .* of site \([^ ]*\) (rank [01], .*/\1/p' out)
	site_b=$(sed -n 's/.*ring\/ll .* of site \([^ ]*\) (rank [23], .*/\1/p' out)
	[ "$site_a" ] && [ "$site_b" ] && [ "$site_a" != "$site_b" ] &&
		grep -q "policies by_site" out
}
await named
ok "with both answers, their sites and ranks" $?
for s in a b; do
	NCCLBPF_SOCKET_DIR=$T/$s run -o table -J agree check agreement
	[ "$rc" -eq 0 ] && ! grep -q DISAGREE out
	ok "each site alone would see nothing: $s" $?
done

# A rank that is stopped does not hide its site; a site that is away is named
standin=$(pgrep -P $job)
pids=$(pgrep -P "$standin")
first=$(echo "$pids" | head -1)
halt "$first"
for_it() {
	ask -T 3 -o table check agreement # the agent waits for it only a part of that time
	grep -q "4 of 4 ranks of 2 sites" out && grep -q "number $number:" out
}
await for_it
ok "another process of the site answers for one that is stopped" $?
kill -CONT "$first"

# After a crash
running=$(LC_ALL=C grep -la "^ncclbpf-agent.*$T/" /proc/[0-9]*/cmdline 2>/dev/null | tr -dc '0-9\n')
lose $services $standin $job $pids $running
wait $job 2>/dev/null
await all_ended $pids $standin $running
ask -T 2 -o table check agreement
[ "$rc" -ne 0 ]
ok "a job that is dead does not answer" $?
status 2 "the segment files of both sites" \
	-o table check agreement segment=a/agree.seg segment=b/agree.seg
has "name the same decision" out "4 of 4 ranks of 2 sites" "number $number:" \
	"of site a/agree.seg (rank " "of site b/agree.seg (rank "
status 2 "as JSON" -o json check agreement segment=a/agree.seg segment=b/agree.seg
has "with the verdict" out '"verdict":"diverged"' '"sites":2'
status 0 "one file alone sees nothing" -o table check agreement segment=b/agree.seg
has "and says how many ranks it has" out "2 of 4 ranks here"
status 64 "a file twice" check agreement segment=a/agree.seg segment=a/agree.seg
status 66 "a file that is missing" check agreement segment=a/agree.seg segment=c/agree.seg
head -c 100 a/agree.seg >short.seg
status 65 "a file that is cut" check agreement segment=a/agree.seg segment=short.seg
