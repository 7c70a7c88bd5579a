#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Ranks that begin with other policies, settings or versions than their peers:
# found before the first decision, all of them take NCCL's choice, and the log
# of each says in what they differ, both sides named.
set -u
dir=$(mktemp -d)
job=
trap '[ "$job" ] && kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO
sh=$B/ncclbpf-shell
tree=$B/test/corpus/answers/only_tree.policy
ring=$B/test/corpus/answers/ring_ll_four.policy
. "$TOP/test/tap.sh"
log=$dir/log
# job NAME LIBRARIES...: four processes with what follows, to their end
run() {
	export NCCLBPF_JOB=$1
	shift
	timeout 300 "$B/test/fakes/host/standin" --procs --ranks 4 --min 4M --max 32M \
		--loops 20 "$@" >"$dir/log" 2>&1
}
found() { # times, text: how often it is in the log
	[ "$(grep -c -- "$2" "$dir/log")" -eq "$1" ]
}
# differs WHAT TEXT OPTIONS...: rank 2 of four begins otherwise
differs() {
	what=$1 text=$2
	shift 2
	run "job$n" "$@"
	say $? "$what of one rank: all four take the same choice"
	found 4 "its ranks started with different [a-z]* ($text)"
	say $? "$what: each process says so, both sides named"
}

export NCCLBPF_POLICY=$tree
run alike
say $? "four ranks that begin alike"
found 0 "started with different"
say $? "nothing is said"
run jit --rank-env 1:NCCLBPF_JIT=off --rank-env 2:NCCLBPF_LOG=debug
say $? "the interpreter and the log's level need not be the same"
found 0 "started with different"
say $? "nothing is said of them"

who='of rank [013] (process [0-9]*)' odd='of rank 2 (process [0-9]*)'
pair() { # what, the others' value, rank 2's: rank 2 may have come first
	echo "$1 \($who: $2; $odd: $3\|$odd: $3; $who: $2\)"
}
differs "another policy" \
	"$(pair policies 'only_tree ([0-9a-f]*)' 'ring_ll_four ([0-9a-f]*)')" \
	--rank-env "2:NCCLBPF_POLICY=$ring"
differs "no policy" "$(pair policies 'only_tree ([0-9a-f]*)' none)" \
	--rank-env 2:NCCLBPF_POLICY=
NCCLBPF_POLICY=$tree:$ring
differs "another order" "$(pair policies 'only_tree ring_ll_four ([0-9a-f]*)' \
	'ring_ll_four only_tree ([0-9a-f]*)')" --rank-env "2:NCCLBPF_POLICY=$ring:$tree"
NCCLBPF_POLICY=$tree
differs "NCCLBPF_MAX_CHANNELS" "$(pair NCCLBPF_MAX_CHANNELS 128 16)" \
	--rank-env 2:NCCLBPF_MAX_CHANNELS=16
differs "NCCLBPF_COHERENCE" "$(pair NCCLBPF_COHERENCE strict off)" \
	--rank-env 2:NCCLBPF_COHERENCE=off
differs "NCCLBPF_FENCE_MARGIN" "$(pair NCCLBPF_FENCE_MARGIN 4096 7)" \
	--rank-env 2:NCCLBPF_FENCE_MARGIN=7
differs "NCCLBPF_FENCE_TIMEOUT_MS" "$(pair NCCLBPF_FENCE_TIMEOUT_MS 2000 50)" \
	--rank-env 2:NCCLBPF_FENCE_TIMEOUT_MS=50
differs "NCCLBPF_MAX_RUN" "$(pair NCCLBPF_MAX_RUN 1048576 65536)" \
	--rank-env 2:NCCLBPF_MAX_RUN=65536

differs "a policy that cannot be loaded" "$(pair policies 'only_tree ([0-9a-f]*)' none)" \
	--rank-env "2:NCCLBPF_POLICY=$dir/nosuch.policy"

# A rank that the others do not find: no ncclbpf, or not theirs.
missing() { # times said, what, options
	times=$1 what=$2
	shift 2
	run "job$n" --rank-env "$@"
	say $? "$what on one rank: all four take the same choice"
	found "$times" \
		'its ranks started with different settings ([13] of 4 ranks had not registered'
	say $? "$what: each of $times says that ranks are missing"
}
missing 3 "NCCLBPF_DISABLE=1" 2:NCCLBPF_DISABLE=1
missing 3 "NCCLBPF_DISABLE=1 (the first)" 0:NCCLBPF_DISABLE=1
missing 4 "another NCCLBPF_JOB" 2:NCCLBPF_JOB=another
mkdir -m 700 "$dir/other"
missing 4 "another NCCLBPF_SOCKET_DIR" "2:NCCLBPF_SOCKET_DIR=$dir/other"
# one is enough for the library, the directory stays open
missing 4 "no descriptor for the segment" 2:SPARE_FILES=1
missing 4 "no descriptor for the segment's own" 2:SPARE_FILES=2
NCCLBPF_DISABLE=1 run disabled
say $? "NCCLBPF_DISABLE=1 on all ranks"
[ ! -e "$dir/disabled.seg" ]
say $? "leaves nothing behind"

# Another version of ncclbpf, by its name alone.
have=$(timeout 300 "$sh" --version | sed -n 's/.* \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p' | head -1)
last=${have##*.}
other=${have%.*}.$(((last + 1) % 10))
LC_ALL=C sed "s/${have}\\x00/${other}\\x00/g" "$B/libncclbpf.so" >"$dir/other.so"
differs "another version" "$(pair "ncclbpf's version" "$have" "$other")" \
	--rank-env "2:NCCL_TUNER_PLUGIN=$dir/other.so"

# A job whose segment is of a version that this ncclbpf does not share.
export NCCLBPF_JOB=old
timeout 0 "$B/test/fakes/host/standin" --procs --ranks 2 --seconds inf \
	--pause-ms 5 >"$dir/old.log" 2>&1 &
job=$!
both() { [ "$(ls "$dir" | grep -c '^old.*sock$')" -ge 2 ]; }
await while_lives $job both
printf '\143' | dd of="$dir/old.seg" bs=1 seek=8 conv=notrunc 2>/dev/null
run old
say $? "beside a job of another segment version"
alone="this process shares no job segment, old.seg is in use by processes with another version"
found 4 "3 of 4 ranks had not registered before the first decision: $alone"
say $? "each rank says so and takes NCCL's choice"
kill $job
wait $job 2>/dev/null
job=
echo "1..$n"
exit $bad
