#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# What the shell takes out of ring buffers, and variables by name.
. "$TOP/test/integration/shell_lib.sh"
need_host "map pop and variables"
trap finish EXIT
cd "$T" || exit 1
[ -e "$B/test/corpus/shell/batch.bpf.o" ] || skip_all "map pop and variables" "no clang"
cp "$B/test/corpus/shell/batch.bpf.o" .
job pop --ranks 1 --procs 1 --rate 2000
status 0 "load" policy load batch.bpf.o
status 0 "use" policy use batch

# ---- records
status 0 "records as they come" -o tsv -q map pop ring follow=yes count=300
[ "$(wc -l <out)" -ge 300 ] && grep -q 'seq=.*coll=.*ranks=1' out
ok "typed by the type of that name" $?
cut -f4 out | sed 's/.*seq=\([0-9]*\).*/\1/' |
	awk 'NR > 1 && $1 <= p { bad = 1 } { p = $1 } END { exit bad }'
ok "in their order, none twice" $?
status 0 "no more of them" -o tsv map set .bss paused=1
has "one variable stored" out "1"
status 0 "what is left, all at once" -o json map pop ring count=1000
has "with what was dropped" out '"dropped":'
status 0 "one more" -o table map pop ring
has "there is none" out "empty"
fails 65 not_supported "not from a hash" map pop many
status 1 "no such type" map pop ring as=nosuch
status 64 "no such count" map pop ring count=0

# ---- variables
status 0 "a variable" -o tsv -q map get .bss decisions
! grep -q '	0$' out
ok "has a value" $?
status 0 "a field of an element" -o tsv -q map get .bss 'saved[1].channels'
has "by its path" out "	7"
status 0 "store a field" map set .bss 'saved[2].bytes=4M' last.ranks=9
status 0 "the structure" -o tsv -q map get .bss 'saved[2]'
has "has it, and the rest as it was" out "bytes=4194304" "channels=0"
status 0 "as key and value" map set .bss 'saved[2]' '{bytes=1, channels=2}'
status 0 "read" -o tsv -q map get .bss 'saved[2]'
has "both" out "bytes=1" "channels=2"
fails 64 bad_argument "an index outside" map set .bss 'saved[3].bytes=1'
fails 64 bad_argument "a field that is not there" map set .bss 'saved[0].byte=1'
fails 64 bad_argument "a variable that is not there" map set .bss pausd=1
status 64 "a value too large" map set .bss paused=5000000000
fails 64 usage "no variables in a hash" map set limits bytes=1
cat >pop.lua <<'EOF'
local t = assert(nb.attach { job = "pop" })
local p = assert(t:policy "batch")
p.vars.paused = 0
print("paused", p.vars.paused)
local ring, n = t:map "ring", 0
ring:pop { follow = function(r) n = n + (r.ranks == 1 and 1 or 0) return n >= 50 end }
print("followed", n)
p.vars.paused = 1
n = 0
for r in ring:take() do n = n + 1 end
print("empty", ring:pop(), #ring:pop { count = 5 })
p.vars["saved[0].bytes"] = 12
print("path", p.vars["saved[0].bytes"], p.vars.saved[1].bytes)
print("wrong", pcall(function() p.vars.pased = 1 end) == false)
local was = p.vars.decisions
p.vars.last = { ranks = 3 }
print("kept", p.vars.decisions >= was)
EOF
run -f pop.lua
tr '\t' ' ' <out >flat
cat flat >>why
for want in "paused 0" "followed 50" "empty nil 0" "path 12 12" "wrong true" "kept true"; do
	grep -qxF "$want" flat
	ok "Lua: $want" $?
done
messages
