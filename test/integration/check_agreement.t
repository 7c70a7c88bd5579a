#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# check agreement: ranks that agree, ranks that do not (a policy that chooses
# for each rank by itself, accepted with NCCLBPF_COHERENCE=off), from a living
# job and from the segment that a killed one left.
. "$TOP/test/integration/control/lib.sh"
export NCCLBPF_SOCKET_DIR="$T/s"
seg=$T/s/t.seg
SH_OPTIONS="-o table"

host NCCLBPF_POLICY="$B/policies/size_aware.policy" --ranks 4 --procs 2 --rate 4000
compared() { sh_ 0 -J t check agreement && told "compared up to decision [1-9]"; }
check "ranks agree" await compared
check "they are said to" told "4 of 4 ranks here, compared up to decision [0-9]*: agree"
check "as JSON too" sh_ 0 -J t -j check agreement
check "the segment is named" told '"segment":"[^"]*/t.seg"'
check "a look at the file tells the same" sh_ 0 check agreement segment="$seg"
check "with the same words" told "compared up to decision [0-9]*: agree"
check "a communicator alone" sh_ 0 \
	-J t check agreement comm=$("$SH" --no-rc -J t -o name comm list | head -1)
check "all members are shown then" told "4 of 4 ranks here"
stop "a job of two processes"
check "a job that ends takes its segment away" test ! -e "$seg"

host NCCLBPF_COHERENCE=off NCCLBPF_POLICY="$B/test/corpus/shell/differs.bpf.o" \
	--ranks 4 --procs 4 --rate 2000 --rounds 900
check "ranks that do not agree: status 2" await sh_ 2 -J t check agreement
check "the first such decision is named" told "the first decision that differs is number 30[0-9]:"
check "both answers" told "ring/ll .*slot"
check "and who gave them" told "ring/simple .*slot [0-9] (pid [0-9]*)"
pids=$(pgrep -P "$HOST")
lose "$HOST" $pids
wait "$HOST" 2>/dev/null
HOST=
await all_ended $pids
check "a killed job leaves its segment" test -f "$seg"
check "it tells without a living process: status 2" sh_ 2 check agreement segment="$seg"
check "the same decision" told "that differs is number [0-9]*:"
check "as JSON" sh_ 2 -j check agreement segment="$seg"
check "with both answers" told '"verdict":"diverged"'
check "another communicator: nothing" sh_ 0 check agreement segment="$seg" comm=12345
check "no communicators" told "no communicators"

check "no file: 66" sh_ 66 check agreement segment="$T/none.seg"
head -c 3000 "$seg" >"$T/short.seg"
check "a short file: 65" sh_ 65 check agreement segment="$T/short.seg"
head -c 4000000 /dev/urandom >"$T/wild.seg"
check "any file: 65" sh_ 65 check agreement segment="$T/wild.seg"
check "bad comm: 64 or 65" sh -c \
	'"$0" --no-rc check agreement segment="$1" comm=zz; case $? in 64|65) ;; *) exit 1;; esac' \
	"$SH" "$seg"

# Ranks that begin with different policies.
host NCCLBPF_POLICY="$B/policies/size_aware.policy" --ranks 2 --procs 1 --rate 2000
check "one process: agree" sh_ 0 -J t check agreement
done_testing
