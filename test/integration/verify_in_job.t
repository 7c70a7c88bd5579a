#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Offline and in the job the same verdict, byte for byte: every program of
# the corpus is loaded into a running process and judged by the shell. Both
# refuse it in the same words, or accept it after the same walk, with the same
# bounds on its runs.
. "$TOP/test/integration/control/lib.sh"

host --ranks 2
mkdir "$T/img"
V=$TOP/test/corpus/verify
check "the corpus becomes images" "$C/corpus" \
	"$V/reject" "$V/accept" "$V/coherence" "$T/img"
sed 's/^/# /' "$T/check"
for o in "$B"/test/corpus/reject/*.bpf.o "$B"/test/corpus/accept/*.bpf.o \
	"$B"/policies/*.bpf.o; do
	[ -e "$o" ] || continue
	dir=${o%/*}
	name=${dir##*/}-$(basename "$o" .bpf.o)
	# what the loader refuses never becomes an image
	"$B/tools/policy_build" "$o" "$T/img/$name.policy" 2>/dev/null ||
		rm -f "$T/img/$name.policy"
	echo "$T/img/$name.policy $(basename "$o" .bpf.o)" >>"$T/names"
done
ls "$T"/img/*.policy >"$T/list"
awk 'NR == FNR { name[$1] = $2; next }
	{ n = $0 in name ? name[$0] : "case"
	  print "!fd " $0 "\npolicy load " n "\npolicy unload " n }' \
	"$T/names" "$T/list" | timeout 300 "$C/client" -t 60 "$S" >"$T/both"
awk 'NR % 2' "$T/both" >"$T/replies"
n=$(wc -l <"$T/list")
check "a reply to each of $n loads" test "$(wc -l <"$T/replies")" -eq "$n"
XDG_RUNTIME_DIR=$T HOME=$T "$B/ncclbpf-shell" -f "$TOP/test/integration/verify_in_job.lua" \
	"$T/list" "$T/replies" >"$T/said" 2>&1
cut -c1-3000 "$T/said" | sed 's/^[^#]/# &/'
number() { sed -n "s/^\([0-9]*\) $1.*/\1/p" "$T/said"; }
check "no verdict differs" grep -qx "0 other" "$T/said"
check "over 500 were refused alike" test "$(number refused)" -gt 500
check "over 200 were accepted alike" test "$(number accepted)" -gt 200
stop "refusals"
done_testing
