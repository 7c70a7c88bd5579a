# SPDX-License-Identifier: MIT
# Sourced by host_reload.t and host_reload_abis.t: policies exchanged under load on the
# stand-in for NCCL. No two ranks may ever differ, and nobody hangs.
# ROUNDS: of four changes each. COMMS: communicators of a churn. MOVED: changes they see.
set -u
dir=$(mktemp -d)
trap 'kill $job 2>/dev/null; wait 2>/dev/null; rm -rf "$dir"' EXIT
job=
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
. "$TOP/test/await.sh"
log=$dir/log

# Communicators without an identity keep NCCLBPF_POLICY: a change moves none, with status 2.
answered() { [ "$nameless" ] && echo "moved none" || echo "was taken"; }
kept() {
	[ "$nameless" ] && [ $ended -eq 2 ] && grep -q 'no communicator changes' "$dir/use"
}
# A change is refused where the ranks run past every fence that is tried, as
# on a busy machine they may: once more, then.
use() {
	for _ in 1 2 3 4 5 6; do
		timeout 300 "$sh" -J $NCCLBPF_JOB policy use "$@" >"$dir/use" 2>&1
		ended=$?
		cat "$dir/use" >>"$dir/log"
		if [ "$nameless" ]; then
			kept && return
		else
			[ $ended -eq 0 ] && return
		fi
		sleep 0.1
	done
	return 1
}
# name_of RELEASE OPTIONS: does NCCL give communicators an identity? 2.27 tells it the profiler.
name_of() {
	nameless=
	case "$*" in 2.27.*--events*) ;; 2.2[1-7].*) nameless=yes ;; esac
}
# Wait until so many processes of the job can be attached to.
sockets() { [ "$(ls "$dir" | grep -c "^$NCCLBPF_JOB\..*sock$")" -ge "$1" ]; }
attachable() { await while_lives $job sockets "$1"; }

run() { # name, release, processes, options...
	name=$1 release=$2 procs=$3
	shift 3
	export NCCLBPF_JOB=reload$n
	name_of "$release" "$@"
	timeout 0 "$B/test/fakes/host/standin" --nccl "$release" --ranks 8 \
		--seconds inf "$@" >"$dir/log" 2>&1 &
	job=$!
	attachable $procs
	for p in size_aware nvlink_ring_mid noop; do
		timeout 300 "$sh" \
			-J $NCCLBPF_JOB policy load "$B/policies/$p.policy" >>"$dir/log" 2>&1 ||
			{ say 1 "$name: load $p"; kill $job; wait $job; return; }
	done
	moved=0
	for i in $(seq "$ROUNDS"); do
		for p in size_aware nvlink_ring_mid "noop size_aware" none; do
			# shellcheck disable=SC2086
			use $p && moved=$((moved + 1))
		done
	done
	kill -TERM $job
	wait $job
	rc=$?
	[ $rc -eq 0 ]
	say $? "$name: no rank differed, none hung (status $rc)"
	echo "# $moved of $((4 * ROUNDS)) changes" >>"$dir/log"
	[ $moved -eq $((4 * ROUNDS)) ]
	say $? "$name: every change $(answered) ($moved of $((4 * ROUNDS)))"
	job=
}

# Communicators come and go while policies change: all ranks of each must begin
# with the same one, also where NCCL tells no identity.
churn() { # name, release, options...
	name=$1
	shift
	moved=0
	# a busy machine may get few changes into the life of one job
	for round in 1 2 3 4 5; do
		churn_once "$@"
		[ $rc -ne 0 ] && break
		[ $moved -ge "$MOVED" ] && break
	done
	say $rc "$name: no rank of $COMMS communicators differed (status $rc)"
	echo "# $moved changes" >>"$dir/log"
	[ $moved -ge "$MOVED" ]
	say $? "$name: changes were taken${nameless:+ or moved none} meanwhile"
}
churn_once() { # release, options...
	export NCCLBPF_JOB=churn${n}_$round
	name_of "$@"
	timeout 300 "$B/test/fakes/host/standin" --nccl "$@" --procs --ranks 4 \
		--comms "$COMMS" --loops 3 --pause-ms 2 --ahead 20 >"$dir/log" 2>&1 &
	job=$!
	attachable 4
	for p in size_aware nvlink_ring_mid; do
		timeout 300 "$sh" \
			-J $NCCLBPF_JOB policy load "$B/policies/$p.policy" >>"$dir/log" 2>&1
	done
	while kill -0 $job 2>/dev/null; do
		for p in size_aware none nvlink_ring_mid none; do
			timeout 300 "$sh" -J $NCCLBPF_JOB policy use $p >"$dir/use" 2>&1
			ended=$?
			cat "$dir/use" >>"$dir/log"
			[ $ended -eq 0 ] || kept && moved=$((moved + 1))
		done
	done
	wait $job
	rc=$?
	job=
}

