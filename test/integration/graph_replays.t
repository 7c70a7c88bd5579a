#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# CUDA graphs are replayed without a call of the tuner: ranks stand still for
# as long as the job likes. Changes are made meanwhile, wait for nobody, and
# are there at the next call on all ranks alike. Questions that some ranks ask
# and others do not are found.
. "$TOP/test/integration/control/lib.sh"
export NCCLBPF_SOCKET_DIR="$T/s"

halted() { [ "$(grep -c '^halted' "$T/host.out")" -ge "$1" ]; }
last_pid() { pgrep -P "$HOST" | tail -1; }
all() { # decisions of all ranks
	"$SH" --no-rc -J t -o tsv -q comm list 2>/dev/null
}

host --ranks 4 --procs 4 --rate 500 --extra 2
check "policies for all" sh_ 0 policy load "$P/tree.policy"
check "one more" sh_ 0 policy load "$P/ring.policy"
check "one is in use" sh_ 0 policy use tree
settle

# ---- replays: nobody calls
kill -USR2 "$HOST"
check "all ranks stand still" await halted 1
all >"$T/before"
check "a change is committed meanwhile" sh_ 0 policy use ring
ask "change status"
says "at a fence that nobody has reached" '"state":"committed"' '"passed":0'
check "another one takes its place" sh_ 0 policy use none
check "and one more" sh_ 0 policy use ring
ask "change status"
says "which nobody has reached either" '"state":"committed"' '"passed":0'
check "ranks agree" sh_ 0 check agreement
all >"$T/after"
check "nobody has decided anything" cmp "$T/before" "$T/after"
check "status is answered" sh_ 0 -j status
check "it is in use for who begins now" told '"policies":\["ring"\]'
kill -USR2 "$HOST"
check "at the next call all ranks take the last one, at its fence" \
	timeout 300 "$SH" --no-rc -f "$TOP/test/integration/graph_replays.lua" t ring
check "and agree" sh_ 0 check agreement
alive "after replays"

# ---- once more, with questions of one rank alone
kill -USR2 "$HOST"
check "they stand still again" await halted 2
kill -USR1 $(last_pid)
kill -USR2 "$HOST"
# the first difference is found before all that shows what it is
found() { sh_ 2 -j check agreement && grep -q '"extra":2,"extra_slot":[0-3]' "$T/out"; }
check "questions of one rank between replays are found, and told by what they are" await found
check "no change is made any more" sh_ 2 -j policy use none
check "and why" told '"code":"ranks_disagree"'
check "nothing has moved" sh_ 0 -j status
check "as status says" told '"policies":\["ring"\]'
alive "ranks that do not count alike"
kill -TERM "$HOST"; wait "$HOST"; HOST=
done_testing
