#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600  needs: etcd
# Each kind of change on a job of two sites with communicators of both sites and of
# each site alone: lists of policies, maps, scopes, undo. After each, the ranks of
# all sites have the same generation in each communicator.
. "$TOP/test/integration/shell_lib.sh"
. "$TOP/test/integration/store_lib.sh"
needs_store "kinds of changes"
[ -e "$B/examples/rollout/one_channel.bpf.o" ] ||
	skip_all "kinds of changes" "no clang at build time"
enter_store
fleet_of kinds
serve kinds a b
# Ranks 0 and 2 on site a, 1 and 3 on site b: the two halves are of one site each.
NCCL_TUNER_PLUGIN="$B/libncclbpf.so" NCCLBPF_SOCKET_DIR="$T/a" \
	timeout 0 "$B/test/fakes/host/standin" --ranks 4 --nodes 2 --procs --split --min 4M \
	--max 32M --seconds inf --pause-ms 2 --rank-env "1:NCCLBPF_SOCKET_DIR=$T/b" \
	--rank-env "3:NCCLBPF_SOCKET_DIR=$T/b" >log 2>&1 &
job=$! jobs="$jobs $!"
await registered 4
need "two sites have one communicator together and one each" $?
cat >caps.bpf.c <<'END'
#include "ncclbpf_policy.h"
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} caps SEC(".maps") __coherent;
SEC("tuner") int cap(struct ncclbpf_tuner *ctx)
{
	__u32 key = 1, *most = bpf_map_lookup_elem(&caps, &key);
	if (most)
		ctx->channels = (*most & 7) + 1;
	return 0;
}
END
# same COMMS POLICIES: true if all communicators whose number of ranks is in COMMS decide with
# POLICIES, and all ranks of each have one generation
same() {
	run -o tsv comm list
	awk -F '\t' -v comms="$1" -v want="$2" '
		NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
		index(" " comms " ", " " $h["ranks"] " ") {
			c = $h["comm"]
			n++
			bad += ($h["policies"] != want) || (c in gen && gen[c] != $h["generation"])
			gen[c] = $h["generation"]
		}
		END { exit bad || !n }
	' out
}
# change NAME POLICIES COMMAND...: a change of all communicators
change() {
	name=$1 want=$2
	shift 2
	run -o tsv "$@"
	[ "$rc" -eq 0 ] && [ "$(grep -c '	committed	' out)" -ge 1 ] &&
		! grep -q '	aborted	' out && await same "2 4" "$want"
	ok "$name" $?
}
size=$B/policies/size_aware.policy mid=$B/policies/nvlink_ring_mid.policy
change "policy use" size_aware policy use "$size"
change "policy add" size_aware,nvlink_ring_mid policy add "$mid"
change "policy move" nvlink_ring_mid,size_aware policy move nvlink_ring_mid position=first
change "policy remove" nvlink_ring_mid policy remove size_aware
change "policy undo" nvlink_ring_mid,size_aware policy undo
cp "$B/examples/parameters/limits.bpf.o" .
change "a policy with parameters" limits policy use 'limits.bpf.o?small=64K'
change "policy set" limits policy set limits small=128K
values() { # TEXT: do all processes show it?
	run -o json policy show limits
	[ "$(grep -o "$1" out | wc -l)" -eq 4 ]
}
await values '"name":"small","value":131072'
ok "has the value on all sites" $?
change "policy replace" size_aware policy replace limits "$size"
change "a policy with a coherent map" caps policy use ./caps.bpf.c

map() { # WANT: has the map these lines on all sites, in one dump?
	run -o tsv map dump caps
	[ "$(tail -n +2 out | awk '{ print $(NF - 1) "=" $NF }' | sort -u | tr '\n' ' ')" = "$1" ]
}
change "map set" caps map set caps 1 3 2 4
await map "1=3 2=4 "
ok "has both elements on all sites" $?
change "map remove" caps map remove caps 2
await map "1=3 "
ok "removes one on all sites" $?
printf 'key\tvalue\n1\t6\n5\t7\n' >caps.tsv
change "map load" caps map load caps caps.tsv
await map "1=6 5=7 "
ok "has the file's elements on all sites" $?

# ---- scopes ----
all=$(run -o tsv comm list && awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) h[$i] = i; next }
	$h["ranks"] == 4 { print $h["comm"]; exit }' out)
status 0 "a change of the communicator of both sites alone" policy use size_aware comm="$all"
await same 4 size_aware && same 2 caps
ok "leaves those of one site" $?
status 0 "a change of the others alone" policy use none comm=others
await same 2 "[]"
ok "leaves the communicator of both sites" $?
same 4 size_aware
ok "which has its own policies still" $?
run -n policy use none
[ "$rc" -eq 0 ]
ok "a dry run" $?
same 4 size_aware
ok "changes nothing" $?
status 0 "check agreement: the ranks of all sites agree" check agreement
kill "$job"
wait "$job"
[ $? -ne 3 ]
ok "no two ranks have decided differently" $?
