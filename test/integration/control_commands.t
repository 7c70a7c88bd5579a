#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Every command of the control socket, with its errors, on a process of two
# ranks that decide all the while.
. "$TOP/test/integration/control/lib.sh"
zeros=0000000000000000000000000000000000000000000000000000000000000000
comm=ab00000000000000

host --ranks 2

# ---- hello, help, cancel
printf 'hello 1\n' | timeout 300 "$C/client" -n "$S" >"$T/r"
R=$(cat "$T/r")
says "hello" '"protocol":1' '"version":"' '"uid":'"$(id -u)" '"job":"t"' \
	'"rank":0' '"role":"control"' '"tuner_abi":5'
refuses "hello of a later version" version_mismatch "hello 2"
refuses "hello without a number" bad_argument "hello x"
printf '@7 status\n' | timeout 300 "$C/client" -n "$S" >"$T/r"
R=$(cat "$T/r")
says "a command before hello" '"id":7' '"code":"protocol"'
ask "help"
says "help lists the commands" '"words":"hello"' '"words":"trace tail"'
n=$(printf '%s' "$R" | grep -o '"words":' | wc -l)
check "help lists every row of the table" test "$n" -eq \
	"$(grep -c '^CMD(' "$TOP/core/defs/commands.h")"
ask "help map"
says "help of a noun" '"words":"map list"' '"words":"map remove"'
ask "help map set"
says "help of a command" '"syntax":"MAP KEY VALUE...' '"role":"control"'
refuses "help of an unknown word" not_found "help polcy"
refuses "cancel of no stream" not_found "@4 cancel 99"
refuses "cancel of no number" bad_argument "@4 cancel x"

# ---- what is no request
refuses "an unknown command" usage "policy lod x"
refuses "an unknown option" usage "status depth=3"
refuses "too many arguments" usage "status now"
refuses "too few arguments" usage "policy load"
refuses "an open quote" usage 'policy dump "x'
refuses "a bad id" protocol "@x status"
refuses "bytes that are no UTF-8" protocol "$(printf 'policy dump \377')"
refuses "an empty line" usage ""
ask "!raw 737461747573000a" "!read"
says "a NUL byte" '"code":"protocol"' '"at":7'

# ---- status, doctor with no policy
ask "@1 status"
says "status" '"id":1' '"generation":' '"digest":"'$zeros '"policies":[]' \
	'"comms":2' '"error":null' '"coherence":"strict"' '"segment":{"path":"/' \
	'"shared":true,"processes":1' '"unusable":0' "\"socket\":\"$S\""
ask "doctor"
says "doctor" '"checks":[{"name":"nccl_algo","level":"ok"' '"name":"segment"'

# ---- policy load and its errors
ask "!fd $P/ring.policy" "policy load ring"
says "policy load" '"ok":true' '"name":"ring"' '"source":"shell"' \
	'"in_use":false,"position":null' '"hook":"tuner"' '"verify":{"insns_walked":'
ask "!fd $P/ring.policy" "policy load ring"
says "policy load again" '"ok":true,"data":{"name":"ring"'
load tree choice tables big
refuses "policy load of an unsafe policy" verify_rejected "!fd $P/bad.policy" "policy load bad"
says "has the finding" '"finding":{' '"text":"'
refuses "policy load without a descriptor" bad_argument "policy load ring"
refuses "policy load under another name" bad_argument \
	"!fd $P/ring.policy" "policy load rang"
refuses "policy load of none" bad_argument "!fd $P/ring.policy" "policy load none"
refuses "policy load of an unsealed file" bad_argument \
	"!unsealed $P/ring.policy" "policy load ring"
refuses "policy load of a plain file" bad_argument \
	"!plain $P/ring.policy" "policy load ring"
refuses "policy load of no image" bad_image "!fd $TOP/Makefile" "policy load x"
head -c 200 "$P/ring.policy" >"$T/short"
refuses "policy load of a cut image" bad_image "!fd $T/short" "policy load ring"
: >"$T/empty"
refuses "policy load of nothing" over_limit "!fd $T/empty" "policy load ring"
head -c 8388609 /dev/zero >"$T/large"
refuses "policy load of too much" over_limit "!fd $T/large" "policy load ring"

# ---- policy list, get, dump
ask "policy list"
says "policy list" '"policies":[{"name":"ring"' '"name":"big"'
ask "policy export ring" "!savefd $T/got"
says "policy export" '"name":"ring","digest":"' '"size":'
check "policy export gives the same bytes" cmp "$T/got" "$P/ring.policy"
digest=$(sha256sum <"$P/ring.policy" | cut -c1-64)
says "the digest is the SHA-256 of the bytes" "$digest"
ask "policy export $(printf %.8s "$digest")"
says "policy export by digest" '"name":"ring"'
refuses "policy export of no policy" not_found "policy export rin"
ask "policy dump choice"
says "policy dump" '"name":"choice"' '"pc":0,"insn":"r6 = r1","func":"choice"' \
	'"file":"made/by/hand.c","line":12' '\"line\";' '"more":false,"next":null'
refuses "policy dump of no policy" not_found "policy dump nope"
ask "policy dump big"
says "policy dump of many pages" '"more":true,"next":'
next=$(printf '%s' "$R" | sed 's/.*"next":\([0-9]*\)}.*/\1/')
ask "policy dump big after=$next limit=1"
says "policy dump goes on" "\"pc\":$next,"
refuses "policy dump of a bad page" bad_argument "policy dump big after=x"

# ---- policy use, undo, discard
ask "policy use ring"
says "policy use" '"change":"' '"state":"committed"' '"generation":' \
	'"comm":"'$comm '"ranks":2'
settle
ask "change status"
soon "all ranks passed the fence" '"staged":null' '"passed":2'
ask "decision tail count=2"
soon "the policy decides" '"answer":{"algo":"ring","proto":"simple","channels":4},"by":"ring"'
ask "policy list"
says "policy list shows it in use" '"in_use":true,"position":0' '"overrides":'
refuses "policy use of an unknown one" not_found "policy use rng"
refuses "policy use of one twice" exists "policy use ring ring"
refuses "policy use none and another" bad_argument "policy use none ring"
refuses "policy unload in use" busy "policy unload ring"
ask "policy use tree tables"
settle
ask "comm show $comm"
soon "a chain of policies" '"policies":["tree","tables"]' '"by":"tree"'
ask "policy undo"
says "policy undo" '"state":"committed"'
settle
ask "comm show $comm"
soon "undo brings back the one before" '"policies":["ring"]'
ask "policy use none"
says "policy use none" '"change":"'$zeros '"state":"committed"'
settle
ask "decision tail count=2"
soon "NCCL decides again" '"by":null'
# ---- policy add, move, remove
ask "policy add ring" "policy add tree"
says "policy add" '"state":"committed"'
settle
ask "comm show $comm"
soon "goes behind those in use" '"policies":["ring","tree"]' '"by":"tree"'
ask "policy move tree position=first" "policy add tables before=ring"
settle
ask "comm show $comm"
soon "policy move, and add before another" '"policies":["tree","tables","ring"]' '"by":"ring"'
ask "policy list"
says "policy list has the order" '"name":"ring"' '"position":2'
ask "policy move tree position=last" "policy move ring before=tables"
settle
ask "comm show $comm"
soon "policy move to the end, and before another" '"policies":["ring","tables","tree"]'
refuses "policy add of one in use" exists "policy add ring"
refuses "policy add of an unknown one" not_found "policy add rng"
refuses "policy add before one not in use" not_found "policy add big before=choice"
refuses "policy add at two places" bad_argument "policy add big before=ring position=first"
refuses "policy move to no place" bad_argument "policy move ring"
refuses "policy move before itself" bad_argument "policy move ring before=ring"
refuses "policy move of one not in use" not_found "policy move big position=first"
refuses "policy remove of one not in use" not_found "policy remove big"
refuses "policy replace of one not in use" not_found "policy replace big ring"
refuses "policy replace by an unknown one" not_found "policy replace tree rng"
refuses "policy replace by another in use" exists "policy replace tree ring"
ask "policy replace tree big"
settle
ask "comm show $comm"
soon "policy replace" '"policies":["ring","tables","big"]'
ask "policy replace big tree"
settle
ask "comm show $comm"
soon "and back" '"policies":["ring","tables","tree"]' '"by":"tree"'
ask "policy time on"
says "policy time on" '"on":true,"sample":64'
sampled() {
	ask "policy show ring"
	printf '%s' "$R" | grep -q '"samples":[1-9]'
}
await sampled
says "policy show" '"name":"ring"' '"hook":"tuner"' '"engine":"' '"refused":0' '"position":0'
check "has the mean time of some runs" \
	sh -c "printf '%s' '$R' | grep -q '\"samples\":[1-9][0-9]*,\"mean_ns\":[0-9]'"
refuses "policy time of a wrong word" bad_argument "policy time maybe"
refuses "policy show of no policy" not_found "policy show rng"
ask "policy time off"
says "policy time off" '"on":false'
ask "policy remove tables" "policy remove tree"
settle
ask "comm show $comm"
soon "policy remove leaves the others" '"policies":["ring"]'
ask "policy undo"
settle
ask "comm show $comm"
soon "undo brings back what was removed" '"policies":["ring","tree"]'
ask "policy remove tree" "policy remove ring"
says "without the last one no policy is left" '"change":"'$zeros '"state":"committed"'
ask "policy unload big"
says "policy unload" '"name":"big","digest":"'
refuses "policy unload of no policy" not_found "policy unload big"

# ---- staged changes
ask "policy use ring commit=no"
says "policy use commit=no" '"state":"staged"'
d=$(printf '%s' "$R" | sed 's/.*"change":"\([0-9a-f]*\)".*/\1/')
ask "change status"
says "change status of a staged one" "\"staged\":\"$d\""
ask "change abort $d"
says "change abort" "\"change\":\"$d\",\"state\":\"aborted\""
refuses "change abort again" not_found "change abort $d"
refuses "change commit of nothing staged" refused "change commit $d"
refuses "change commit of no digest" bad_argument "change commit 123"
ask "policy use ring commit=no" "change commit $d"
says "change commit" '"state":"committed"'

# ---- maps
ask "policy use choice tables"
says "policies with maps" '"state":"committed"'
ask "map list"
says "map list" '"map":"choice","policy":"choice"' '"coherent":true' \
	'"type":"hash","key_size":8' '"origin":"rodata"' '"type":"percpu_array"'
ask "map show choice"
says "map show" '"key_size":4,"value_size":8,"max_entries":1' '"count":1'
refuses "map show of no map" not_found "map show chioce"
refuses "map show of no policy" not_found "map show nope/choice"
ask "map dump hits"
says "map dump" '"ncpus":1,' '"entries":[{"key":"00000000","value":"' '"more":false'
ask "map dump hits limit=2"
says "map dump of a page" '"more":true,"next":"01000000"'
ask "map dump hits limit=2 after=01000000"
says "map dump goes on" '[{"key":"02000000"' '"more":false'
refuses "map dump of a bad page" bad_argument "map dump hits limit=0"
refuses "map dump after no key" bad_argument "map dump hits after=00"
ask "map dump wide"
says "map dump bounds a reply" '"more":true,"next":"'
check "and keeps below a mebibyte" test "$(wc -c <"$T/r")" -le 1048576
ask "map dump per_cpu"
says "map dump per CPU" '"ncpus":' '"key":"01000000","value":"0000000000000000'
ask "map get tables/.rodata 00000000"
says "map get" '"key":"00000000","value":"0700000009000000"'
refuses "map get of a short key" bad_argument "map get hits 0000"
refuses "map get of no hexadecimal" bad_argument "map get hits 0000000g"
refuses "map get of a key outside" no_such_key "map get hits 09000000"
refuses "map set of an index outside" too_big "map set hits 04000000 0000000000000000"
refuses "map set of a long key" bad_argument "map set hits 0400000000 0000000000000000"
k1=0100000000000000 k2=0200000000000000
ask "map set by_size $k1 $k2 $k2 $k1"
says "map set of several" '"map":"by_size","policy":"tables","changed":2'
ask "map get by_size $k2"
says "map get after it" "\"value\":\"$k1\""
ask "map get by_size $k2 0900000000000000 $k2"
none='{"key":"0900000000000000","value":null}'
says "map get of several" \
	"\"entries\":[{\"key\":\"$k2\",\"value\":\"$k1\"},$none," '],"left":0'
refuses "map get of several, one no key" bad_argument "map get by_size $k2 09"
printf '\0\005\0\0\0\0\0\0\0\001\0\0\0\0\0\0\0\001\005\0\0\0\0\0\0\0' >"$T/elements"
ask "!fd $T/elements" "map load by_size"
says "map load stores and removes" '"map":"by_size","policy":"tables","changed":2'
refuses "map pop of a hash" not_supported "map pop by_size"
refuses "map set of a part of a hash" not_supported "map set by_size $k1 00 at=0"
ask "map set hits 02000000 ff at=7" "map get hits 02000000"
says "map set of a part of a value" 'ff"}}'
refuses "map set of a part outside" bad_argument "map set hits 02000000 ff at=8"
refuses "map load without a descriptor" bad_argument "map load by_size"
refuses "map attach without a descriptor" bad_argument "map attach hits"
refuses "map attach of no host map" not_found "!fd $T/elements" "map attach hits"
refuses "map detach of nothing" not_found "map detach hits"
printf '\0\005\0\0' >"$T/elements"
refuses "map load of a part of an element" malformed "!fd $T/elements" "map load by_size"
printf '\007\005\0\0\0\0\0\0\0' >"$T/elements"
refuses "map load of neither store nor remove" malformed "!fd $T/elements" "map load by_size"
printf '\001\005\0\0\0\0\0\0\0\001\005\0\0\0\0\0\0\0' >"$T/elements"
refuses "map load says which one failed" no_such_key "!fd $T/elements" "map load by_size"
refuses "map set flags=new" exists "map set by_size $k1 $k1 flags=new"
refuses "map set flags=old" no_such_key "map set by_size ff00000000000000 $k1 flags=old"
refuses "map set of other flags" bad_argument "map set by_size $k1 $k1 flags=some"
refuses "map set of a key without value" usage "map set by_size $k1 $k1 $k2"
refuses "map set of a long value" bad_argument "map set by_size $k1 ${k1}00"
refuses "map set of constants" read_only "map set tables/.rodata 00000000 $k1"
ask "map set by_size $k1 $k1 commit=no"
says "map set commit=no on a local map changes nothing" '"changed":0'
fill=
for i in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do
	fill="$fill f${i}00000000000000 $k1"
done
refuses "map set of more than there is room for" map_full "map set by_size $fill"
ask "map show by_size"
says "they are" '"count":16'
ask "map set by_size f000000000000000 $k2"
says "a full map still replaces" '"changed":1'
ask "map remove by_size$(printf ' f%s00000000000000' 0 1 2 3 4 5 6 7 8 9 a b c d)"
says "and has room again" '"changed":14'
refuses "map set says which one failed" exists \
	"map set by_size 0300000000000000 $k1 $k1 $k2 flags=new"
ask "map remove by_size $k1"
says "map remove" '"changed":1'
refuses "map remove again" no_such_key "map remove by_size $k1"
refuses "map remove of an array" bad_flags "map remove hits 00000000"

# ---- a coherent map: algo + 1, proto + 1
ask "map set choice 00000000 0200000003000000"
says "map set of a coherent map is a change" '"state":"committed"' '"generation":'
settle
ask "explain allreduce 1024"
soon "explain" '"coll":"allreduce","bytes":1024' '"seen":true' '"name":"choice"' \
	'"answer":{"algo":"ring","proto":"simple","channels":0},"by":"choice"' '"changed":true'
ask "policy undo"
says "undo of a map change" '"state":"committed"'
settle
ask "map get choice 00000000"
soon "undo brings the content back" '"value":"0000000000000000"'
refuses "map remove of a coherent array" bad_flags "map remove choice 00000000"
ask "policy use ring"
settle
refuses "a coherent map out of use has no content" refused "map get choice/choice 00000000"

# ---- comm, explain
ask "comm list"
says "comm list" '"comms":[{"comm":"'$comm '"slot":0' '"slot":1' \
	'"ranks":2,"local_ranks":2,"nodes":1' '"changeable":true,"why":null' '"more":false'
ask "comm list limit=1"
says "comm list of a page" '"more":true,"next":1'
ask "comm show $comm slot=1"
says "comm show" '"slot":1' '"table":[{"coll":"allreduce","bytes_from":1024,"bytes_to":2047' \
	'"nccl":{"algo":"' '"cost_us":' '"generation":'
refuses "comm show of no communicator" not_found "comm show 0000000000000001"
refuses "comm show of no such slot" not_found "comm show $comm slot=7"
refuses "comm show of no identity" bad_argument "comm show ab"
ask "explain broadcast 3G"
says "explain of what was not seen" '"seen":false' '"note":"NCCL has not asked' '"bytes":3221225472'
refuses "explain of no collective" bad_argument "explain alreduce 1K"
refuses "explain of no size" bad_argument "explain allreduce big"
refuses "explain of another communicator" not_found "explain allreduce 1K comm=0000000000000001"

# ---- tails
ask "decision tail count=6"
says "decision tail" '"decisions":[{"comm":"'$comm '"seq":' '"lost":0'
check "decision tail gives as many" test "$(printf '%s' "$R" | grep -o '"seq":' | wc -l)" -eq 6
refuses "decision tail of none" bad_argument "decision tail count=0"
refuses "decision tail of too many" bad_argument "decision tail count=9999"
refuses "follow without an id" usage "decision tail follow=yes"
ask "@9 decision tail count=1 follow=yes" "!read 3" "!send @10 cancel 9" '!until "end":true'
says "a stream ends" '{"id":9,"ok":true,"end":true}'
check "a stream has lines" test "$(grep -c '"id":9,"ok":true,"data":{"decisions"' "$T/r")" -ge 4
check "cancel is answered" grep -q '{"id":10,"ok":true,"data":{"cancelled":9}}' "$T/r"
refuses "an id that is a stream already" exists "@9 decision tail count=1 follow=yes" \
	'!send @9 decision tail follow=yes' '!until "ok":false'
refuses "a fifth stream" over_limit "@1 trace tail follow=yes" "@2 trace tail follow=yes" \
	"@3 trace tail follow=yes" "@4 trace tail follow=yes" "@5 trace tail follow=yes"
ask "policy use choice"
settle
three_lines() {
	ask "trace tail count=3"
	[ "$(printf '%s' "$R" | grep -o '"number":' | wc -l)" -eq 3 ]
}
await three_lines
says "trace tail" '"lines":[{"policy":"choice","number":' '"text":"hit ' 'Z","text"' '"lost":0'
check "trace tail gives as many" test "$(printf '%s' "$R" | grep -o '"number":' | wc -l)" -eq 3
ask "@9 trace tail count=1 follow=yes" "!read 2" "!send @10 cancel 9" '!until "end":true'
check "trace tail follows" test "$(grep -c '"id":9,"ok":true,"data":{"lines"' "$T/r")" -ge 3
refuses "trace tail of too many" bad_argument "trace tail count=1025"

# ---- the log
asked="log [0-9]* .*uid $(id -u) pid [0-9]* asked \"policy use ring\""
check "changes are logged with who asked" \
	grep -q "$asked: done, digest [0-9a-f]* generation [0-9]" "$T/host.err"
check "refused changes are logged" \
	grep -q 'asked "policy load bad": verify_rejected: ' "$T/host.err"
check "looking is not logged" sh -c '! grep -q "asked \"status" "$1"' - "$T/host.err"
alive "after all of it"
sock=$S
stop "two ranks"
check "the socket is removed" test ! -e "$sock"
messages
done_testing
