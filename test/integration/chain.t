#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Plugins that are called through ours: of every version, with and without a
# policy, and bad ones of each kind. What they do wrong is counted, said once,
# and changes nothing else; ranks that do not have the same one are told.
. "$TOP/test/integration/shm_room.sh"
shm_room "plugins called through ours" "$0" "$@"
set -u
dir=$(mktemp -d)
job=
trap '[ "$job" ] && kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so NCCL_DEBUG=INFO
peers=$B/test/fakes/wrapped
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
log=$dir/log
run() { # OPTIONS...: 4 ranks of as many processes, to their end
	NCCLBPF_JOB=chain$n timeout 300 "$B/test/fakes/host/standin" --procs \
		--ranks 4 --min 64M --max 64M --loops 8 "$@" >"$dir/log" 2>&1
}
said() { # times, text
	[ "$(grep -c -- "$2" "$dir/log")" -eq "$1" ]
}
# all ranks took that in all decisions: as the first rank's report has it
took() { # microseconds
	[ "$(grep -c "\"time_us\":$1," "$dir/report")" -eq 8 ]
}
report() {
	rm -f "$dir/report"
	run --report "$dir/report" "$@"
}

report
nccl=$(sed -n 's/.*"time_us":\([0-9.]*\),.*/\1/p' "$dir/report" | head -1)
took "$nccl"
say $? "NCCL's own choice, $nccl us"
for v in 2 3 4 5 6 7; do
	export NCCLBPF_CHAIN_TUNER=$peers/tuner_v$v.so
	report --nccl 2.32.6
	ran=$?
	peer=$(sed -n 's/.*"time_us":\([0-9.]*\),.*/\1/p' "$dir/report" | head -1)
	[ $ran -eq 0 ] && [ "$peer" != "$nccl" ] && took "$peer"
	say $? "v$v through NCCL 2.32.6's v7: its answer is what NCCL takes"
	chunks=0
	[ $v -ge 6 ] && chunks=24 # three kinds of channels
	said 4 "tuner v$v was asked 8 times, $chunks\$"
	say $? "v$v: asked once a decision, begun and ended once a rank"
	said 4 "(peer, interface v$v) is called first"
	say $? "v$v: each process says so once"
done
for release in 2.21.5:2 2.22.3:3 2.24.3:4 2.28.9:5 2.30.7:6; do
	v=${release#*:}
	NCCLBPF_CHAIN_TUNER=$peers/tuner_v$v.so
	report --nccl ${release%:*}
	[ $? -eq 0 ] && said 4 "tuner v$v was asked 8 times" && ! took "$nccl"
	say $? "v$v through NCCL ${release%:*}'s own"
done

# ---- a policy has the last word

NCCLBPF_CHAIN_TUNER=$peers/tuner_v5.so
NCCLBPF_POLICY=$B/test/corpus/answers/only_tree.policy report
both=$(sed -n 's/.*"time_us":\([0-9.]*\),.*/\1/p' "$dir/report" | head -1)
[ "$both" != "$nccl" ] && [ "$both" != "$peer" ] && took "$both"
say $? "a policy's answer stands over the chained tuner's"
said 4 "was asked 8 times"
say $? "which was asked before it"

# NCCL 2.31 takes the last of equal costs, and an entry of -1 before all others
tail() { # algorithm and protocol that the last decision says
	timeout 300 "$sh" -q -J "chain$n" -o json decision tail 2>/dev/null |
		sed -n 's#.*"answer":{"algo":"\([a-z_0-9]*\)","proto":"\([a-z0-9]*\)".*#\1/\2#p' |
		head -1
}
# a job that lives while it is asked, with a report
lives() {
	rm -f "$dir/report"
	NCCLBPF_JOB=chain$n timeout 0 "$B/test/fakes/host/standin" --procs \
		--ranks 4 --min 64M --max 64M --seconds inf --pause-ms 2 \
		--report "$dir/report" "$@" >"$dir/log" 2>&1 &
	job=$!
	await while_lives $job decides
}
decides() { [ -s "$dir/report" ] && [ "$(tail)" ]; }
ran() { # and those that ran
	sed -n 's/.*"runs":"\([^"]*\)".*/\1/p' "$dir/report" | head -1
}
for release in 2.30.7 2.31.2 2.32.6; do
	for does in ring deny; do
		for policy in none only_tree; do
			export CHAIN_DOES=$does
			NCCLBPF_POLICY=
			[ $policy = none ] || NCCLBPF_POLICY=$B/test/corpus/answers/$policy.policy
			export NCCLBPF_POLICY
			lives --nccl $release
			told=$(tail) runs=$(ran)
			kill "$job"
			wait "$job"
			job=
			case $does,$policy in
			*,only_tree) [ "$runs" = tree/simple ] ;;
			ring,*) [ "$runs" = ring/ll ] ;;
			*) [ "$runs" != nvls/simple ] ;;
			esac && [ "$told" = "$runs" ]
			say $? "NCCL $release, peer $does, policy $policy: $runs runs, $told told"
		done
	done
done
unset CHAIN_DOES
NCCLBPF_POLICY=$B/test/corpus/answers/only_tree.policy lives
its=chain$n # say counts n
timeout 300 "$sh" -J "$its" -o table explain allreduce 64M >"$dir/explain" 2>&1
grep -q "choice of the wrapped tuner peer" "$dir/explain" &&
	! grep -q "NCCL's own choice" "$dir/explain"
say $? "explain names the wrapped tuner"
chosen_by() { # REGEX: who chooses at 64 MiB, in the words of choices
	timeout 300 "$sh" -J "$its" -o table choices >"$dir/choices" 2>&1
	grep -q "^64M .* $1\$" "$dir/choices"
}
await while_lives $job chosen_by only_tree
grep -q "^128M to 16G .* tree/?  *only_tree$" "$dir/choices" &&
	grep -q "wrapped tuner peer," "$dir/choices"
say $? "choices does, too"
timeout 300 "$sh" -y -J "$its" policy use none >/dev/null 2>&1
await while_lives $job chosen_by "tuner peer or NCCL"
say $? "and names it where no policy answers"
kill "$job"
wait "$job"
job=
unset NCCLBPF_POLICY

# ---- what cannot be called

for library in missing.so none.so unresolved.so tuner_v6.so; do
	export NCCLBPF_CHAIN_TUNER=$peers/$library
	report
	[ $? -eq 0 ] && took "$nccl"
	say $? "$library: the job goes on as without it"
	said 4 "CHAIN_TUNER: the tuner .*$library is left out: "
	say $? "$library: each process says so once"
done
said 4 "the plugin has interface v6, and this NCCL calls v5 and older"
say $? "and why: it is newer than this NCCL"
NCCLBPF_CHAIN_TUNER=$B/libncclbpf.so
report
[ $? -eq 0 ] && took "$nccl" && said 4 "libncclbpf.so is ncclbpf itself"
say $? "ourselves: refused, and said"
ln -s "$B/libncclbpf.so" "$dir/linked.so"
NCCLBPF_CHAIN_TUNER=$dir/linked.so
report
[ $? -eq 0 ] && took "$nccl" &&
	said 4 "libncclbpf.so is ncclbpf itself\|linked.so is ncclbpf itself"
say $? "ourselves by another name: refused"
cp "$B/libncclbpf.so" "$dir/copy.so"
NCCLBPF_CHAIN_TUNER=$dir/copy.so
report
[ $? -eq 0 ] && took "$nccl" && said 4 "copy.so is left out: it is another ncclbpf"
say $? "a copy of ourselves: refused"
NCCLBPF_CHAIN_TUNER=None NCCLBPF_CHAIN_PROFILER=none report
[ $? -eq 0 ] && took "$nccl" && said 0 "opening the" && said 0 "is left out"
say $? "none: no plugin is looked for, as in NCCL's own variables"
export LD_LIBRARY_PATH=$peers${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
NCCLBPF_CHAIN_TUNER=named
report
[ $? -eq 0 ] && ! took "$nccl" && said 4 "the tuner .*/libnccl-tuner-named.so (peer"
say $? "a name is looked up as NCCL does"

# ---- what answers badly

NCCLBPF_CHAIN_TUNER=$peers/tuner_v5.so
bad() { # what it does, times said, text
	export CHAIN_DOES=$1
	report
	[ $? -eq 0 ] && took "$nccl"
	say $? "$1: all ranks take NCCL's choice"
	said "$2" "$3"
	say $? "$1: each process says so once"
}
bad fail_init 4 "is left out: the init of the plugin returned 3"
said 0 "constant .* edited"
say $? "fail_init: NCCL's constants are as they were before it"
report --nodes 2
[ $? -ne 0 ] && said 4 "init returned 3; ncclbpf.s init returns the same"
say $? "fail_init, several hosts: NCCL gets the error, as without ncclbpf"
# ---- what crashes, beside fail_init above

for how in open init; do
	CHAIN_DOES=abort_$how
	report
	[ $? -ne 0 ] && said 0 "is left out" && said 4 "opening the tuner .*/tuner_v5.so"
	say $? "a crash in $how ends the processes; the log names the plugin"
done
said 4 "tuner_v5.so (peer, interface v5) is called first"
say $? "a crash in init: the log also names the interface called"

# ---- what answers badly later

bad fail 4 "tuner_v5.so returned an error, so NCCL.s own choice was used"
bad mute 4 "tuner_v5.so returned an answer that NCCL cannot use"
bad nan 4 "tuner_v5.so returned an answer that NCCL cannot use"
CHAIN_DOES=hostile
for v in 2 3 4 5 6; do
	NCCLBPF_CHAIN_TUNER=$peers/tuner_v$v.so
	report --nccl 2.30.7 --nodes 2
	say $? "hostile v$v: nothing that NCCL does not offer, no absurd channels or chunks"
	said 4 "tuner_v$v.so returned an answer that NCCL cannot use"
	say $? "hostile v$v: said once"
done
NCCLBPF_CHAIN_TUNER=$peers/tuner_v2.so
report --nccl 2.21.5
[ $? -eq 0 ] && took "$nccl"
say $? "hostile v2 through NCCL 2.21, which would take anything"

# ---- ranks that differ

NCCLBPF_CHAIN_TUNER=$peers/tuner_v5.so
CHAIN_DOES=fail_init:2
report
[ $? -eq 0 ] && took "$nccl" && said 4 "CHAIN_TUNER's file of rank"
say $? "init fails on one rank: all leave it to NCCL, and say in what they differ"
unset CHAIN_DOES
report --rank-env "1:NCCLBPF_CHAIN_TUNER=$peers/tuner_v4.so"
[ $? -eq 0 ] && took "$nccl" && said 4 "CHAIN_TUNER's file of rank"
say $? "another file on one rank: likewise"
report --rank-env "1:NCCLBPF_CHAIN_TUNER="
[ $? -eq 0 ] && took "$nccl" && said 4 "CHAIN_TUNER's file of rank.*none"
say $? "none on one rank: likewise"
cp "$peers/tuner_v5.so" "$dir/same.so"
report --rank-env "1:NCCLBPF_CHAIN_TUNER=$dir/same.so"
[ $? -eq 0 ] && took "$peer" && said 0 "started with different"
say $? "a copy elsewhere is the same"

# ---- profilers: the same file is the tuner too, so that all that is told is
# the same as where NCCL calls it itself

events() { # release, options
	r=$1
	shift
	NCCLBPF_JOB=events$n timeout 300 "$B/test/fakes/host/standin" --events --tags 2 \
		--procs --ranks 2 --nodes 2 --min 1M --max 64M --nccl "$r" \
		"$@" >"$dir/log" 2>&1
}
told() { # what the profiler says at its end, of all ranks
	sed -n 's/^peer: profiler/told:/p' "$dir/log" | sort
}
fits() { # what it was told is $want, and right
	[ -n "$want" ] && [ "$want" = "$(told)" ] &&
		! told | grep -v ' 0 orphans, 0 open, 0 foreign, bad 0,'
}
for release in 2.23.4:1 2.24.3:2 2.26.2:3 2.27.3:4 2.28.9:5 2.31.2:7 2.30.7:6; do
	v=${release#*:} release=${release%:*}
	peer=$peers/profiler_v$v.so
	NCCL_TUNER_PLUGIN=$peer events "$release"
	want=$(told)
	export NCCLBPF_CHAIN_PROFILER=$peer NCCLBPF_CHAIN_TUNER=$peer
	events $release
	[ $? -eq 0 ] && fits
	say $? "profiler v$v through NCCL $release: told what NCCL would tell it"
	said 2 "the profiler .*profiler_v$v.so (peer, interface v$v) is called first"
	say $? "v$v: each process says so once"
done
events 2.31.2
[ $? -eq 0 ] && fits && said 2 "profiler_v6.so (peer, interface v6) is called first"
say $? "profiler v6 through NCCL 2.31: told as by 2.30"
events 2.30.7
# with more asked for by us, it is told no more
want=$(told)
NCCLBPF_POLICY=$B/test/corpus/events/hooks.policy CHAIN_MASK=80 events 2.30.7
[ $? -eq 0 ] && [ "$want" = "$(told)" ]
say $? "our own hooks beside it: it is told no more and no less"
CHAIN_MASK=2 events 2.30.7
[ "$(told | grep -c 'v6: 28 events, 28 stops, 0 states')" -eq 2 ]
say $? "it asks for collectives alone: those and what is above them"
bad_profiler() { # what it does, times, text
	export CHAIN_DOES=$1
	events 2.30.7
	[ $? -eq 0 ] && said "$2" "$3"
	say $? "a profiler that does \"$1\": the job goes on, and says so once"
}
NCCLBPF_CHAIN_TUNER= # of several hosts its init would not be left out
bad_profiler fail_init 2 \
	"the profiler .*profiler_v6.so is left out: the init of the plugin returned 3"
NCCLBPF_CHAIN_TUNER=$peer
bad_profiler fail 2 "the profiler .*profiler_v6.so returned an error, which NCCL would ignore"
bad_profiler null 2 "profiler v6: [1-9][0-9]* events, 0 stops, 0 states"
bad_profiler switch 2 "profiler v6: 4[0-9] events"
unset CHAIN_DOES
NCCLBPF_CHAIN_PROFILER=$peers/profiler_v4.so
events 2.30.7
[ $? -eq 0 ] && [ -z "$(told)" ] && said 2 "CHAIN_PROFILER: the profiler .*profiler_v4.so is left \
out: it has no ncclProfiler_v5 to ncclProfiler_v6"
say $? "a profiler older than v5 is left out by a newer NCCL, and the log says so once"
for library in missing.so none.so unresolved.so profiler_v6.so; do
	NCCLBPF_CHAIN_PROFILER=$peers/$library
	events 2.28.9
	[ $? -eq 0 ] && said 2 "CHAIN_PROFILER: the profiler .*$library is left out: "
	say $? "profiler $library: the job goes on, and says so once"
done
unset NCCLBPF_CHAIN_PROFILER

# ---- shown

NCCLBPF_CHAIN_TUNER=$peers/tuner_v5.so

begin() { # processes answer the shell
	rm -f "$dir"/*.sock
	NCCLBPF_JOB=shown timeout 0 "$B/test/fakes/host/standin" --ranks 2 \
		--seconds inf --pause-ms 5 >"$dir/log" 2>&1 &
	job=$!
	await while_lives $job listed
}
listed() {
	timeout 300 "$sh" -o json comm list >"$dir/out" 2>&1 && grep -q c0ffee "$dir/out" &&
		grep -q '"decisions":[1-9]' "$dir/out"
}
end() {
	kill $job
	wait $job 2>/dev/null
	job=
}
shows() { # what, options and command -- texts
	name=$1
	shift
	timeout 300 "$sh" "$1" "$2" "$3" >"$dir/out" 2>&1
	shift 3
	for text; do
		grep -q -- "$text" "$dir/out" && continue
		say 1 "$name"
		sed 's/^/# /' "$dir/out"
		return
	done
	say 0 "$name"
}
begin
shows "status has it" -o json status '"kind":"tuner"' \
	'"path":"[^"]*/tuner_v5.so"' '"interface":5' '"state":"in_use"' \
	'"errors":0' '"refused":0'
shows "and so in words" -o table status 'tuner_v5.so (peer, v5) is called first'
shows "doctor" -o json doctor '"name":"chain_tuner"' \
	'"text":"the tuner [^"]*tuner_v5.so (peer, interface v5) is called first"'
end
export CHAIN_DOES=hostile
begin
shows "answers not taken are counted" -o json status '"refused":[1-9]'
shows "doctor warns" -o json doctor 'answers that were refused'
end
CHAIN_DOES=fail_init
begin
shows "one that is left out, in status" -o json status '"state":"left_out"' \
	'"why":"the init of the plugin returned 3"' '"errors":1'
shows "and so in words" -o table status 'tuner_v5.so is left out: the init of the plugin returned 3'
shows "and in doctor" -o json doctor '"level":"bad"' 'is left out: the init of the plugin'
end
echo "1..$n"
