#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 900
# No harm: in each environment of environments.table a job of the real NCCL on
# virtual GPUs ends with us as it ends without us, and what is lost of ours is
# said at WARN in NCCL's log. ROWS=PATTERN runs the rows whose names match,
# TABLE=FILE takes another table, MODES=LIST other modes.
#
# shellcheck disable=SC2086,SC2317,SC2329 # a row's words are split and call functions
set -u
TOP=${TOP:-$(cd "$(dirname "$0")/../.." && pwd)}
B=${B:-$TOP/build/debug}
export E="$B/test/fakes/environment" V="$B/test/fakes/vgpu"
if [ ! -x "$V/job" ] || [ ! -x "$E/deny" ]; then
	echo "1..0 # SKIP environments: no libnccl and CUDA headers at build time"
	exit 0
fi
if [ $# -eq 0 ]; then
	T=$(mktemp -d)
	chmod 755 "$T"
	mkdir -m 1777 "$T/tmp"
	group=
	trap '[ -z "$group" ] || kill -s KILL -- "-$group"; rm -rf "$T"' EXIT
	trap 'exit 1' TERM INT
	export T B TMPDIR="$T/tmp" HOME="$T"
	# What a user has set must not change what is tested.
	for v in $(env | sed -nE 's/^((NCCL|NCCLBPF|VGPU|SLURM|PMIX|LC)_[A-Z0-9_]*)=.*/\1/p'); do
		unset "$v"
	done
	unset RANK LANG LD_PRELOAD TORCHELASTIC_RUN_ID
	# NCCL alone chooses Simple for this size, so that the policy's LL tells whose
	# choice was launched; four channels keep the job small.
	export NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=WARN NCCL_MAX_NCHANNELS=4 NCCL_RAS_ENABLE=0
	export VGPU_CLOCK=virtual VGPU_LOG=1 JOB_ARGS="--loops 3"
	export NCCLBPF_JOB="env$$" NCCLBPF_SOCKET_DIR="$T/s"
	policy=$B/test/corpus/answers/ring_ll_four.policy
	so=$B/libncclbpf.so
	export policy so
fi

# The job in one of its modes, as text: a file may be out of sight in its environment.
# Mode shell: the shell finds the job, which ends when it is asked to.
export LAUNCH='
mode=$1 where=
case $mode in none | socket) ;; *) export NCCL_TUNER_PLUGIN=$so NCCLBPF_POLICY=$policy ;; esac
case $mode in profiler | net) export NCCL_PROFILER_PLUGIN=$so ;; esac
case $mode in
net) export NCCL_NET_PLUGIN=$so NCCL_NET=ncclbpf where="--per-node 1" ;;
socket) export NCCL_NET=Socket where="--per-node 1" ;;
esac
preload=$V/libvgpu.so${PRELOAD:+:$PRELOAD}
set -- "$V/job" ${JOB_PROCS---procs} --ranks 2 --min 8M --max 8M $where
[ $mode = shell ] || exec env LD_PRELOAD=$preload "$@" $JOB_ARGS
env LD_PRELOAD=$preload "$@" --seconds inf --pause-ms 20 &
job=$!
for i in $(seq 300); do
	for where in "" "-u NCCLBPF_SOCKET_DIR"; do
		shell="env $where timeout 300 $B/ncclbpf-shell -q -o tsv"
		said=$($shell list 2>&1)
		found=$(echo "$said" | grep -c "^$NCCLBPF_JOB.*attachable")
		[ "$found" -ge 2 ] || continue
		[ -n "$($shell decision tail count=1 2>/dev/null)" ] && break 2
	done
	kill -0 $job 2>/dev/null || break
	sleep 0.1
done
echo "shell: $found of 2 processes attachable"
echo "$said" | sed "s/^/shell: /"
kill -TERM $job
wait $job'

# ---- what a row may say before the job's command -------------------------

skip() { # reason: ends the run
	echo "SKIP: $*"
	exit 77
}
need() { # program...
	for p; do command -v "$p" >/dev/null || skip "no $p"; done
}
need_root() { [ "$(id -u)" -eq 0 ] || skip "needs root"; }
file() { # path: the row needs it
	[ -e "$1" ] || skip "no $1"
}
hides() { # folder...: the row mounts over it
	for d; do
		case $B/ in "$d"/*) skip "the build is below $d" ;; esac
	done
}
with_umask() {
	umask "$1"
	shift
	"$@"
}
# mounts SCRIPT: mounts of the job's own
mounts() {
	user=
	[ "$(id -u)" -eq 0 ] || user=-r
	unshare -m $user true 2>/dev/null || skip "no mount namespace"
	script=$1
	shift
	unshare -m $user sh -ec "$script"'
exec "$@"' sh "$@"
}
# processes SCRIPT: PIDs and mounts of the job's own
processes() {
	need_root
	unshare -mpf --mount-proc true 2>/dev/null || skip "no PID namespace"
	script=$1
	shift
	unshare -mpf --kill-child --mount-proc sh -ec "$script"'
"$@"' sh "$@"
}
# user UID: of no group and with no name
user() {
	need_root
	need setpriv
	setpriv --reuid="$1" --regid="$1" --clear-groups test -r "$so" -a -x "$V/job" ||
		skip "the build folder is not for other users"
	id=$1
	mkdir -m 700 "$T/s" 2>/dev/null && chown "$id:$id" "$T/s"
	shift
	setpriv --reuid="$id" --regid="$id" --clear-groups "$@"
}
deny() { # CALL=ERRNO... --
	"$E/deny" "$@"
}
library() { # file: preloaded into the job
	file "$1"
	export PRELOAD="$1"
	shift
	"$@"
}
does() { # jump, profile, fork or no-code
	export ENVIRONMENT_DOES="$1"
	shift
	library "$E/preload.so" "$@"
}
# cgroup CONTROLLER LIMIT
cgroup() {
	need_root
	old=/sys/fs/cgroup/$1 new=/sys/fs/cgroup
	if [ -d "$old" ]; then
		group=$old/ncclbpf-test-$$ limit=$1.max
		[ "$1" = memory ] && limit=memory.limit_in_bytes
	else
		grep -qw "$1" $new/cgroup.subtree_control 2>/dev/null || skip "no cgroup of $1"
		group=$new/ncclbpf-test-$$ limit=$1.max
	fi
	mkdir "$group" 2>/dev/null || skip "no cgroup of $1"
	echo "$2" >"$group/$limit" || skip "no limit $limit"
	shift 2
	group=$group sh -c 'echo $$ >"$group/cgroup.procs" && exec "$@"' sh "$@"
	rc=$?
	for i in $(seq 300); do
		rmdir "$group" 2>/dev/null && break
		sleep 0.1
	done
	return $rc
}
# beside FUNCTION: it gets the PID of rank 1 after the first collectives; the job ends after it
beside() {
	what=$1
	shift
	export JOB_ARGS="--seconds inf --pause-ms 20 --report $T/tmp/report"
	rm -f "$T/tmp/report"
	"$@" &
	job=$!
	until [ -s "$T/tmp/report" ]; do
		kill -0 $job 2>/dev/null || break
		sleep 0.05
	done
	rank=$(cat /proc/$job/task/$job/children 2>/dev/null)
	rank=${rank% }
	[ -z "$rank" ] || $what "${rank##* }"
	kill -TERM $job 2>/dev/null
	wait $job
}
loops() { # so many more, unless the job has ended
	line=$(($(wc -l <"$T/tmp/report") + $1))
	until [ "$(wc -l <"$T/tmp/report")" -ge $line ]; do
		kill -0 $job 2>/dev/null || break
		sleep 0.05
	done
}
freeze() {
	kill -STOP "$1"
	sleep 0.5
	kill -CONT "$1"
	loops 2
}
debug() {
	need gdb
	gdb -nx -batch -p "$1" -ex 'thread apply all bt 1' >/dev/null 2>&1
	loops 2
}
trace() { # to the rank's end
	need strace
	strace -f -o "$T/tmp/calls" -p "$1" 2>/dev/null &
	until [ -s "$T/tmp/calls" ]; do
		kill -0 $! 2>/dev/null || break
		sleep 0.05
	done
	loops 2
}
# locale NAME: of Debian's package locales, made here
locale_of() {
	need localedef
	file /usr/share/i18n/locales/$1
	[ -d "$T/$1.UTF-8" ] || localedef -i $1 -f UTF-8 "$T/$1.UTF-8" >/dev/null 2>&1 ||
		[ -d "$T/$1.UTF-8" ] || skip "localedef makes no $1"
	export LOCPATH="$T" LC_ALL="$1.UTF-8"
	shift
	"$@"
}
twice() { # two jobs at a time, each with PIDs of its own
	processes : "$@" &
	first=$!
	processes : "$@"
	rc=$?
	wait $first && return $rc
}

if [ $# -eq 2 ]; then # one run, of setup $1 in mode $2
	eval "$1" 'sh -c "$LAUNCH" sh "$2"'
	exit
fi

# ---- rows ----------------------------------------------------------------

# Each run is a process group of this program, all of which is killed when its
# time is over.
run() { # setup, mode: sets rc, $T/log.MODE
	rm -rf "$T/s" "$T/tmp"
	mkdir -m 1777 "$T/tmp"
	setsid "$0" "$1" "$2" >"$T/log.$2" 2>&1 </dev/null 3<&- &
	group=$!
	left=$((${LIMIT_S:-150} * 20))
	while kill -0 $group 2>/dev/null; do
		left=$((left - 1))
		if [ $left -eq 0 ]; then
			echo "killed after ${LIMIT_S:-150} s" >>"$T/log.$2"
			kill -s KILL -- "-$group"
		fi
		sleep 0.05
	done
	wait $group
	rc=$?
	kill -s KILL -- "-$group" 2>/dev/null
	group=
}
# Why a run of ours is no good, in $why.
judge() { # mode, words, status without us
	log=$T/log.$1 why=
	warns=$(grep -E 'NCCL WARN (.*: )?ncclbpf: ' "$log")
	launched=$(grep -c 'launch.*AllReduce' "$log")
	obeyed=$(grep -c 'launch.*RING/LL ' "$log")
	words=$2
	case $words in
	*=*)
		case ,${words%%=*}, in *",$1,"*) words=${words#*=} ;; *) words=- ;; esac
		;;
	esac
	if [ "$rc" -ne "$3" ]; then
		why="status $rc, without us $3"
	elif [ "$words" != - ] && ! echo "$warns" | grep -Eq "$words"; then
		why="no WARN of ours says: $words"
	elif [ "$words" = - ] && [ -n "$warns" ]; then
		why="a WARN of ours that the row does not have"
	elif [ "$launched" -eq 0 ]; then
		why="no launch in the log"
	elif [ "$launched" -ne "$obeyed" ] && [ -z "$warns" ]; then
		why="the policy decided $obeyed of $launched launches, and nothing is said"
	elif [ "$1" = shell ] && ! grep -q "shell: 2 of 2 processes attachable" "$log"; then
		why="the shell does not find the job"
	fi
	[ -z "$why" ]
}
n=0 bad=0
# The job without us runs only where one of ours fails: a row must end with status 0, so where
# all of ours do there is nothing to compare.
row() { # name, setup, words, modes
	n=$((n + 1)) all= failed= none=
	name=$1
	for mode in ${MODES-$4}; do
		run "$2" "$mode"
		status=$rc want=0
		if [ $rc -eq 77 ]; then
			echo "ok $n - env $name: ends as without us # SKIP $(grep -h SKIP \
				"$T/log.$mode" | sed 's/.*SKIP: //' | head -1)"
			return
		fi
		all="$all${all:+, }$mode $rc"
		if [ $rc -ne 0 ]; then
			without=none
			[ "$mode" = net ] && without=socket
			run "$2" $without
			want=$rc all="$all, $without $rc"
			[ $rc -eq 0 ] || none=$without
		fi
		rc=$status
		judge "$mode" "$3" "$want" && continue
		failed="$failed $mode"
		eval "why_$mode=\$why"
	done
	failed="$none$failed"
	if [ -z "$failed" ]; then
		echo "ok $n - env $name: ends as without us"
		return
	fi
	bad=1
	echo "not ok $n - env $name: ends as without us"
	echo "#   setup: $2"
	echo "#   status: $all"
	for mode in $failed; do
		case $mode in
		none | socket) why="a row must work without us" ;;
		*) eval "why=\$why_$mode" ;;
		esac
		echo "#   $mode: $why; last lines:"
		grep -v redirected "$T/log.$mode" | tail -12 | cut -c1-250 | sed 's/^/#     /'
	done
}

# A line that begins with a blank goes on with the row.
awk '/^#/ || !NF { next }
	/^[ \t]/ { sub(/^[ \t]+/, ""); row = row " " $0; next }
	{ if (row) print row; row = $0 }
	END { if (row) print row }' "${TABLE:-$TOP/test/integration/environments.table}" >"$T/table"
while IFS= read -r line <&3; do
	name=${line%% | *} rest=${line#* | }
	setup=${rest%% | *} rest=${rest#* | }
	words=${rest%% | *} modes=${rest#* | }
	[ -n "${ROWS:-}" ] && ! echo "$name" | grep -Eq "$ROWS" && continue
	row "$name" "$setup" "$words" "$modes"
done 3<"$T/table"
echo "1..$n"
[ "$bad" -eq 0 ]
