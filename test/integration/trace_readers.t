#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# trace start: readers that are slow or die disturb nobody.
. "$TOP/test/integration/shm_room.sh"
shm_room "traces" "$0" "$@"
. "$TOP/test/integration/trace_lib.sh"
standin one --ranks 2 --procs --nccl 2.28.9 --min 4K --max 4M --factor 1024 --pause-ms 5
await state one 'p.profiler_abi == 5'
# two readers
env --default-signal=INT "$S" -J one trace start out=two1.json events=coll \
	>two1.out 2>&1 &
one=$!
env --default-signal=INT "$S" -J one trace start out=two2.json events=kernel_ch \
	>two2.out 2>&1 &
two=$!
jobs="$jobs $one $two"
await state one 'p.traces == 2 and table.concat(p.events, " ") == "coll kernel_ch"'
await kept two1.json && await kept two2.json
kill -INT $one
wait $one
await state one 'p.traces == 1 and table.concat(p.events, " ") == "kernel_ch"'
ok "of two readers one ends, the other goes on" $?
chrome "each has what it asked for" two1.json 'assert(#of "coll" == #slices)'
halt $two # not in the middle of a write
kill -KILL $two
wait $two 2>/dev/null
await state one "$silent"
ok "one that is killed takes its trace with it" $?
chrome "and its file is whole" two2.json 'assert(#of "kernel_ch" == #slices and #slices > 0)'

# a reader that stands still: events come as fast as they can
standin fast --ranks 2 --threads --nccl 2.30.7 --min 4K --max 4K
env --default-signal=INT "$S" -J fast -o json trace start out=slow.json \
	>slow.out 2>slow.err &
one=$!
jobs="$jobs $one"
await kept slow.json
halt $one
run -J fast -o json trace status
written=$(truth 'print(d.processes[1].data.written)')
await state fast "p.written > $written + 200000"
ok "a reader that stands still holds nobody up" $?
# what it had in its buffers first, then what came after the gap
before=$(wc -c <slow.json)
grown() { [ "$(wc -c <slow.json)" -gt $((before + (4 << 20))) ]; }
kill -CONT $one
await grown
kill -INT $one
wait $one
cp slow.out out
cp slow.out why
truth 'assert(d.ended == "interrupted" and d.lost > 0)'
ok "what it missed is counted" $?
chrome "its file is whole" slow.json 'assert(#slices > 0 and processes[0] and processes[1])'
# but for the calls that fences of NCCL 2.30 are numbers of
await state fast 'table.concat(p.asked, " ") == "coll_api" and #p.events == 0 and p.traces == 0'
ok "and NCCL is asked for nothing" $?
finish
trap - EXIT
