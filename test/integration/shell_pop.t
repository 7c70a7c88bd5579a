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
local function get(path)
	return assert(t:map_get { "batch/.bss", path }).entries[1].value
end
local function set(word) return t:map_set { "batch/.bss", word } end
assert(set "paused=0")
print("paused", get "paused")
local n = 0
t:map_pop { "ring", follow = function(p)
	for _, e in ipairs(p.entries) do n = n + (e.value.ranks == 1 and 1 or 0) end
	return n >= 50
end }
print("followed", n >= 50)
assert(set "paused=1")
while #t:map_pop { "ring", count = 1000 }.entries > 0 do end
print("empty", #t:map_pop { "ring", count = 5 }.entries)
assert(set "saved[0].bytes=12")
print("path", get "saved[0].bytes")
print("wrong", set "pased=1" == nil)
local was = get "decisions"
assert(t:map_set { "batch/.bss", "last", { ranks = 3 } })
print("kept", get "decisions" >= was)
EOF
run -f pop.lua
tr '\t' ' ' <out >flat
cat flat >>why
for want in "paused 0" "followed true" "empty 0" "path 12" "wrong true" "kept true"; do
	grep -qxF "$want" flat
	ok "Lua: $want" $?
done
messages
