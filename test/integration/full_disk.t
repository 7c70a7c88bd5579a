#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# A full file system under the job segment, before a job starts and while it
# is changed: the job goes on, says why, and nobody dies of a SIGBUS.
set -u
if [ -z "${FULL_DISK:-}" ]; then # the mount goes with its namespace
	if ! unshare -rm sh -c 'mount -t tmpfs x /mnt' 2>/dev/null; then
		echo "1..0 # SKIP a full file system: no mount namespace of our own"
		exit 0
	fi
	FULL_DISK=1 exec unshare -rm sh "$0"
fi
top=$(mktemp -d)
job=
trap '[ "$job" ] && kill $job 2>/dev/null; wait 2>/dev/null
	umount -l "$top/m" "$top/tmp" "$top/apart" /dev/shm; rm -rf "$top"' EXIT
dir=$top/m log=$top/log
mkdir "$dir"
mount -t tmpfs -o size=16m,mode=0700 x "$dir" || exit 1
mount -t tmpfs -o size=64m,mode=1777 x /dev/shm || exit 1
mkdir "$top/tmp" && chmod 555 "$top/tmp" && mount -o bind "$top/tmp" "$top/tmp" &&
	mount -o remount,bind,ro "$top/tmp" || exit 1
export TMPDIR=$top/tmp
export NCCLBPF_SOCKET_DIR=$dir NCCL_TUNER_PLUGIN=$B/libncclbpf.so
export NCCL_DEBUG=INFO
sh=$B/ncclbpf-shell
. "$TOP/test/tap.sh"
fill() {
	cat /dev/zero >"$dir/fill" 2>/dev/null
	! echo more >"$dir/more" 2>/dev/null
}
change() { # policy: ranks may run past a fence, then once more
	for turn in $(seq 20); do
		timeout 300 "$sh" policy use "$1" >>"$log" 2>&1 && return 0
	done
	return 1
}

fill
say $? "the file system is full"
NCCLBPF_JOB=early NCCLBPF_POLICY=$B/policies/size_aware.policy timeout 300 \
	"$B/test/fakes/host/standin" --procs --ranks 4 --min 4M --max 32M --loops 20 \
	>"$log" 2>&1
say $? "full before the start: all ranks take the same choice to the end"
# A process that finds the others elsewhere goes there, and tries nothing.
why=$(grep -c "control directory $dir: cannot .* segment file: No space left" "$log")
[ "$why" -ge 1 ] && [ "$why" -le 4 ]
say $? "the processes that have tried the directory say once why they do not use it"
[ "$(grep -c "cannot be used; the control socket is in /dev/shm/ncclbpf-0" "$log")" -eq 4 ]
say $? "and where it went, past a read-only one"
grep -q 'policy size_aware .* decides' "$log" && ! grep -q 'uses none of the policies' "$log"
say $? "the policy is in force"

# A rank that starts later meets the others where they are, though there is room again; a shell
# finds them there, and a job of the same name with a directory of its own stays apart.
standin() { # directory, name of the log, the rest
	NCCLBPF_SOCKET_DIR=$1 NCCLBPF_JOB=meet NCCLBPF_POLICY=$B/policies/size_aware.policy \
		timeout 0 "$B/test/fakes/host/standin" --procs --ranks 2 --min 4M --max 32M \
		--seconds inf >"$top/$2" 2>&1 &
}
# sockets DIRECTORY
sockets() { ls "$1" | grep -c '^meet.*sock$'; }
has() { [ "$(sockets "$1")" -eq "$2" ]; }
standin "$dir" first.log
first=$!
await has /dev/shm/ncclbpf-0 2
say $? "two ranks on a full disk meet in the next directory"
rm -f "$dir/fill" "$dir/more"
standin "$dir" second.log
second=$!
await has /dev/shm/ncclbpf-0 4
say $? "two more meet them there, though the disk has room again"
NCCLBPF_JOB=meet timeout 300 "$sh" -o tsv list >"$log" 2>&1 &&
	[ "$(grep '^attachable.*meet\|^meet' "$log" | grep -c attachable)" -eq 4 ]
say $? "a shell with the same variable finds all four"
mkdir -m 700 "$top/apart"
mount -t tmpfs -o size=2m,mode=0700 x "$top/apart"
cat /dev/zero >"$top/apart/fill" 2>/dev/null
standin "$top/apart" third.log
third=$!
await grep -q 'another job of the same name uses it' "$top/third.log"
say $? "a job of that name from another directory does not mix with them"
kill $first $second $third
wait $first $second $third

export NCCLBPF_JOB=late
timeout 300 "$B/test/fakes/host/standin" --procs --ranks 4 --min 4M --max 32M \
	--comms 200 --loops 10 --pause-ms 3 >"$log" 2>&1 &
job=$!
four() { [ "$(ls "$dir" | grep -c '^late.*sock$')" -ge 4 ]; }
await while_lives $job four
fill
say $? "full while communicators come and go"
timeout 300 "$sh" policy load "$B/policies/size_aware.policy" >>"$log" 2>&1
while kill -0 $job 2>/dev/null; do
	for p in size_aware none; do
		timeout 300 "$sh" policy use $p >>"$log" 2>&1
	done
done
wait $job
say $? "no rank dies or differs while policies change"
job=
rm -f "$dir/fill" "$dir/more"

timeout 0 "$B/test/fakes/host/standin" --procs --ranks 4 --min 4M --max 32M \
	--seconds inf >"$log" 2>&1 &
job=$!
await while_lives $job four
fill
timeout 300 "$sh" policy load "$B/policies/size_aware.policy" >>"$log" 2>&1
change size_aware
say $? "a change is committed on a full file system"
change none
say $? "and another"
timeout 300 "$sh" check agreement >>"$log" 2>&1
say $? "the ranks agree"
timeout 300 "$sh" status >>"$log" 2>&1
say $? "the state is told"
kill -TERM $job
wait $job
say $? "the job goes on to its end"
job=
echo "1..$n"
exit $bad
