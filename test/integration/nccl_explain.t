#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 600
# `explain` against what the real libnccl launches: in jobs with and without a policy, of all
# collectives and of sizes near and far from NCCL's own thresholds, each of DECISIONS launches
# (4,200) is what `explain` says of its collective and size. RCCL's own choice is so but for one
# kind, which is counted apart.
. "$TOP/test/integration/nccl_real_lib.sh"
colls=allreduce,allgather,reducescatter,broadcast,reduce
each=$((${DECISIONS:-4200} / 6)) # two loops at least: five collectives, 17 sizes, four ranks

# NCCL launches fewer channels than the tuner's number for a small message. NCCL 2.22 also launches
# one more, where the parts of a small message leave a rest.
one=0
[ "$nccl" -ge 22300 ] || one=1

# Without a policy, RCCL 2.27.7 sends a ReduceScatter of so many bytes in all by LL where Simple is
# the cheapest: up to 352,128 a rank, on MI300X of one node.
by_ll=0
[ -z "$rccl" ] || by_ll=$((4 * 352128))

launches() { [ "$(grep -c 'launch rank' "$dir/log")" -ge $each ]; }
# Each collective and size that was launched so far.
pairs() {
	sed -nE 's/.*launch rank .* #[0-9]+ ([A-Za-z]+) .*, ([0-9]+) bytes.*/explain \1 \2/p' \
		"$dir/log" | sort -u
}
# Said: explain's rows. Launched: coll, bytes, algo/proto, channels. Prints each kind of difference,
# and a last line of counts: launches, equal ones, those that RCCL sent by LL, those that a policy
# decided.
compared() {
	of='.*launch rank .* #[0-9]+ ([A-Za-z]+) (.* )?' # AllReduce Sum f32
	made='([A-Z0-9_]+\/[A-Z0-9]+) channels ([0-9]+)\.\.([0-9]+), ([0-9]+) bytes.*'
	sed -nE "s/$of$made/\1 \6 \3 \4 \5/p" "$dir/log" | tr '[:upper:]' '[:lower:]' |
		awk -v one="$one" -v by_ll="$by_ll" '
		FILENAME != "-" {
			split($0, f, "\t")
			k = f[3] " " f[4]
			choice[k] = f[9] "/" f[10]
			channels[k] = f[11]
			by[k] = f[12]
			next
		}
		{
			k = $1 " " $2
			n = $5 - $4 + 1
			launched++
			decided += by[k] != ""
			if (!(k in choice)) kind[k ": explain has no answer"]++
			else if ($1 == "reducescatter" && $2 <= by_ll && by[k] == "" &&
				choice[k] == "ring/simple" && $3 == "ring/ll") changed++
			else if (choice[k] != $3) kind[k ": " choice[k] " is launched as " $3]++
			else if (channels[k] > 0 && n > channels[k] + one)
				kind[k ": " channels[k] " channels are launched as " n]++
			else same++
		}
		END {
			for (k in kind) print kind[k] " of " k
			print launched + 0, same + 0, changed + 0, decided + 0
		}
	' "$dir/said" -
}
agrees() { # POLICY|none, smallest size, of how many launches a policy must have made the answer
	name="$1 from $2 bytes"
	export NCCLBPF_JOB=explain$n
	policy=
	for p in "$B/policies/$1.policy" "$answers/$1.policy"; do
		[ ! -e "$p" ] || policy=NCCLBPF_POLICY=$p
	done
	: >"$dir/log" # not the launches of the job before
	# shellcheck disable=SC2086 # no variable at all
	env $policy LD_PRELOAD="$gpus" VGPU_LOG=1 timeout 0 "$job" \
		--ranks 4 --seconds inf --pause-ms 5 --coll $colls --min "$2" --max 64M \
		>"$dir/log" 2>&1 &
	pid=$!
	await while_lives $pid launches
	pairs | timeout $HANG "$sh" -T 300 -q -o tsv -J "$NCCLBPF_JOB" >"$dir/said" 2>>"$dir/log"
	kill -TERM $pid
	wait $pid
	rc=$?
	pid=
	compared >"$dir/kinds"
	# shellcheck disable=SC2046 # four numbers
	set -- $(tail -n 1 "$dir/kinds") "$3"
	sed '$d' "$dir/kinds" >>"$dir/log"
	[ $rc -eq 0 ] && [ "$1" -ge $each ] && [ "$1" -eq $(($2 + $3)) ]
	say $? "$name: $2 of $1 launches are what explain says${rccl:+, $3 are ReduceScatter by LL}"
	case $5 in
	all) [ "$4" -eq "$1" ] ;;
	some) [ "$4" -gt 0 ] ;;
	none) [ "$4" -eq 0 ] && { [ -z "$rccl" ] || [ "$3" -gt 0 ]; } ;;
	esac
	say $? "$name: a policy decided $5 of them ($4)"
}
agrees none 1000 none
agrees none 1432 none
agrees size_aware 1024 some
agrees cheap_ring 1000 some
agrees ring_ll_four 1720 all
agrees wild 1204 none
echo "1..$n"
exit $bad
