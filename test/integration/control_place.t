#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Where the socket goes: a directory that is unfit or too long is passed over
# with a reason, the kernel shows the socket's real path, names come from the
# launcher's variables, a forked child leaves its parent's socket alone.
. "$TOP/test/integration/control/lib.sh"

# The socket that pid $HOST made in directory $1.
in_dir() { ls "$1"/*".$HOST.sock" 2>/dev/null; }

# passed_over NAME WHY: NCCLBPF_SOCKET_DIR is $T/bad, the next is in $T/run.
mkdir -m 700 "$T/run"
next=$T/run/ncclbpf-$(id -u)
passed_over() {
	host NCCLBPF_SOCKET_DIR="$T/bad" TMPDIR="$T/run" --ranks 1
	check "$1: the next directory is taken" test -n "$(in_dir "$next")"
	check "$1: and why is logged" grep -q "control directory $T/bad.*$2" "$T/host.err"
	check "$1: with a warning" \
		grep -q "$T/bad cannot be used; the control socket is in $next" "$T/host.err"
	NCCLBPF_SOCKET_DIR=$T/bad TMPDIR=$T/run timeout $HANG "$SH" -J t -o json doctor \
		>"$T/doctor" 2>&1
	warns='"name":"directory","level":"warn","text":"control directory'
	check "$1: a shell with the same variable finds the job, and doctor warns" \
		grep -q "$warns $T/bad.*the job uses the directory $next" "$T/doctor"
	stop "$1"
}

mkdir -m 755 "$T/bad"
passed_over "a directory open to others" "mode 0755"
rmdir "$T/bad"
ln -s "$T/s" "$T/bad"
passed_over "a link" "a link, or not a directory"
rm "$T/bad"
: >"$T/bad"
passed_over "a file" "a link, or not a directory"
rm "$T/bad"
mkdir -m 700 "$T/bad"
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 "$T/bad"
	passed_over "a directory of another uid" "belongs to uid 65534"
	chown 0 "$T/bad"
else
	skip "a directory of another uid" "needs root"
fi
check "the directory that was made has mode 0700" \
	test "$(stat -c %a "$next")" = 700

host NCCLBPF_SOCKET_DIR="$T/new" --ranks 1
check "a missing directory is made" test "$(stat -c %a "$T/new")" = 700
stop "a missing directory"

# The longest directory that leaves room for /JOB.RANK.NAMESPACE.PID.sock, and one more.
job=name_with_odd_marks ns=$(stat -Lc %i /proc/self/ns/pid)
room=$((107 - ${#job} - $(printf '/.9999999.4294967295.4194304.sock' | wc -c)))
long=$T/$(printf "%0$((room - ${#T} - 1))d" 0)
mkdir -m 700 "$long" "${long}0"
host NCCLBPF_SOCKET_DIR="$long" NCCLBPF_JOB=name/with.odd:marks --ranks 1
check "the longest directory is taken, odd marks become _" \
	test -S "$long/$job.0.$ns.$HOST.sock"
check "the kernel shows the socket's path" \
	grep -q " $long/$job.0.$ns.$HOST.sock\$" /proc/net/unix
check "what cleans old files finds the directory locked" sh -c '! flock -n -x "$0" true' "$long"
ask "status"
says "and is served" '"job":"name_with_odd_marks"'
stop "the longest directory"
check "which is unlocked when the process is gone" flock -n -x "$long" true
# $T/run may be too long, too
short=$(mktemp -d /tmp/nbp.XXXX)
trap 'rm -rf "$short"; cleanup' EXIT
host NCCLBPF_SOCKET_DIR="${long}0" NCCLBPF_JOB=$job TMPDIR="$short" --ranks 1
check "one byte more: the next directory is taken" \
	test -n "$(in_dir "$short/ncclbpf-$(id -u)")"
check "and why is logged" grep -q \
	"control directory ${long}0: $((room + 1)) bytes are too long.* allows $room" "$T/host.err"
stop "a directory that is too long"

mkdir -m 700 "$T/xdg"
host NCCLBPF_SOCKET_DIR= XDG_RUNTIME_DIR="$T/xdg" TMPDIR="$T/run" --ranks 1
check "a directory that disappears at logout is not used" \
	test -n "$(in_dir "$next")" -a ! -e "$T/xdg/ncclbpf"
stop "XDG_RUNTIME_DIR"

host --ranks 1 --fork-after
child=$(awk '/^child/ { print $2 }' "$T/host.out")
ask "status"
says "a process that forks is served" '"ok":true'
check "its child holds no socket" sh -c "! ls -l /proc/$child/fd | grep -q socket:"
kill "$child"
await all_ended "$child"
check "the child's end leaves the socket" test -S "$S"
ask "status"
says "and its parent served" '"ok":true'
stop "a process that forks"

# ---- what somebody has deleted under a running job
served() { ask status; holds '"ok":true'; }
host --ranks 1
rm "$S"
check "a socket that was deleted comes back" await served
check "the log says so" grep -q "log 2 .*control socket $S was deleted" "$T/host.err"
rm -r "$T/s"
check "with its directory" await served
check "which has mode 0700" test "$(stat -c %a "$T/s")" = 700
stop "a deleted socket"
check "its end removes the socket" test -d "$T/s" -a ! -e "$S"

host NCCLBPF_CONTROL=off --ranks 1
check "NCCLBPF_CONTROL=off: no socket" test -z "$(in_dir "$T/s")"
check "and no thread" sh -c "! cat /proc/$HOST/task/*/comm | grep -qx ncclbpf"
stop "NCCLBPF_CONTROL=off"
host --ranks 1
check "the thread has its name" sh -c "cat /proc/$HOST/task/*/comm | grep -qx ncclbpf"
for t in /proc/"$HOST"/task/*; do
	[ "$(cat "$t/comm")" = ncclbpf ] && blocked=$(awk '/SigBlk/ { print $2 }' "$t/status")
done
check "and blocks all signals" test "$blocked" = fffffffe7ffbfeff -o "$blocked" = fffffffffffbfeff
stop "a thread"

# ---- doctor, in a process with everything against it
printf 'not an image' >"$T/broken.policy"
host NCCLBPF_POLICY="$T/broken.policy" NCCL_ALGO=Ring NCCLBPF_POLIZY=x NCCLBPF_FENCE_MARGIN=many \
	NCCLBPF_COHERENCE=off --ranks 1 --abi 4
ask "doctor"
says "doctor" 'NCCL_ALGO=Ring outranks' '"name":"policy","level":"bad"' "broken.policy" \
	'NCCLBPF_POLIZY is not a variable' 'NCCLBPF_FENCE_MARGIN has a value that is not allowed' \
	'the nearest: NCCLBPF_POLICY' 'NCCLBPF_COHERENCE=off' 'tuner interface 4' \
	'cannot be changed'
ask "status"
says "status names the policy that failed" '"error":{"code":"bad_image"' '"coherence":"off"'
ask "comm list"
says "a communicator without identity" '"comm":"0000000000000000"' '"changeable":false,"why":"'
load ring
ask "policy use ring"
says "is left as it is" '"state":"unchangeable"'
stop "tuner interface 4"
done_testing
