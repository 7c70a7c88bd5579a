#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600  needs: python3
# A process that may have no executable memory (prctl PR_SET_MDWE, as systemd's
# MemoryDenyWriteExecute and SELinux do): the interpreter runs its policies, and log, status,
# doctor and policy list say so and why. Where machine code was not wanted, nobody says a thing.
. "$TOP/test/integration/control/lib.sh"
deny='import ctypes, os, sys
if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
    sys.exit(77)
os.execv(sys.argv[1], sys.argv[1:])'
if ! python3 -c "$deny" /bin/true; then
	echo "1..0 # SKIP executable memory that is refused: the kernel has no PR_SET_MDWE"
	exit
fi
mkdir "$T/w"
ln -s "$P/client" "$T/w/client"
printf '#!/bin/sh\nexec python3 -c "$DENY" "%s/host" "$@"\n' "$P" >"$T/w/host"
chmod +x "$T/w/host"
export DENY="$deny" NCCLBPF_SOCKET_DIR="$T/s"
C=$T/w
words="the system refuses executable memory: mprotect of"

host --ranks 2
load ring
ask "policy use ring"
says "a policy is used all the same" '"state":"committed"'
ask "decision tail count=1"
soon "the ranks decide by the interpreter" '"by":"ring"'
check "the log says so and why" \
	grep -q "log 2 .*the interpreter runs the policies.*$words" "$T/host.err"
check "and what to do" grep -q "MemoryDenyWriteExecute=no" "$T/host.err"
check "once" test "$(grep -c 'the interpreter runs the policies' "$T/host.err")" -eq 1
ask status
says "status" "\"uncompiled\":\"$words"
ask doctor
says "doctor" '"name":"engine","level":"warn"' "$words" "NCCLBPF_JIT=off"
ask "policy list"
says "policy list" '"engine":"interpreter"'
check "the shell's status" sh_ 0 status
check "has the note" told "note: rank 0: the interpreter runs the policies: $words"
stop "no executable memory"

host NCCLBPF_JIT=off --ranks 2
load ring
ask "policy use ring"
ask status
says "machine code was not wanted" '"uncompiled":null'
check "the log says nothing" sh -c "! grep -q 'the interpreter runs' '$T/host.err'"
stop "NCCLBPF_JIT=off"

C=$P
host --ranks 2
load ring
ask "policy use ring"
ask status
says "where it is allowed, nothing is said" '"uncompiled":null'
stop "executable memory"
done_testing
