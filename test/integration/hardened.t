#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600  needs: python3
# Shells under a container's usual limits, and what they say: memfd_create is refused, a home that
# cannot be written (HOME=/ of OpenShift), root without CAP_SYS_PTRACE, a rank that is stopped.
if [ -z "${OWN_NS:-}" ]; then
	probe='mount -t tmpfs x /mnt && unshare --pid --fork --mount-proc true'
	if ! unshare -rm sh -c "$probe" 2>/dev/null; then
		echo "1..0 # SKIP limits: no namespaces of our own"
		exit 0
	fi
	OWN_NS=1 exec unshare -rm sh "$0"
fi
. "$TOP/test/integration/shell_lib.sh"
need_host "limits"
ring=$B/test/integration/control/ring.policy

job train --ranks 2 --procs 2
# a seccomp filter that answers memfd_create with EPERM, then the command
refuse='import ctypes, os, struct, sys
nr = {"x86_64": 319, "aarch64": 279}.get(os.uname().machine, 0)
code = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, nr, 6, 0, 0, 0x50001,
                   6, 0, 0, 0x7fff0000)
held = ctypes.create_string_buffer(code)
prog = struct.pack("@HxxxxxxP", 4, ctypes.addressof(held))
libc = ctypes.CDLL(None)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])'
skip() { # NAME REASON
	tests=$((tests + 1))
	echo "ok $tests - $1 # SKIP $2"
}
memfd="a refused memfd_create is named"
if python3 -c "$refuse" /bin/true; then
	python3 -c "$refuse" "$S" -J train policy load "$ring" >"$T/out" 2>"$T/err" </dev/null
	has "$memfd" err \
		"this shell cannot make a memory file (memfd_create): Operation not permitted" \
		"allow memfd_create in the seccomp profile"
else
	skip "$memfd" "the kernel takes no filter"
fi

HOME=/proc ends 73 cannot_create "a home that cannot be written" -J train rollout status

stopped=$(rank_pid train 1)
halt "$stopped"
run -o table list
has "a stopped rank is not called attachable alone" out "attachable; stopped: $stopped" \
	"hint: pid $stopped: a signal or a debugger has stopped the process: kill -CONT $stopped"
run -o tsv list
grep -q "stopped.*	1	$stopped" "$T/out" && grep -q "attachable.*	0	" "$T/out"
ok "programs get its state, too" $?
kill -CONT "$stopped"

mkdir -m 700 "$T/empty"
sleep 600 &
jobs="$jobs $!"
# the processes outside of this user namespace, test/run among them, cannot be read
NCCLBPF_SOCKET_DIR="$T/empty" run -o table list
! grep -q "of other users" "$T/out" "$T/err"
ok "root is not told of other users" $?
has "but of its capability" out "could not be read: this shell is root without CAP_SYS_PTRACE"
finish
