#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Many elements at once: dumped, loaded, read and removed while policies store
# and remove others. ELEMENTS: how many of them.
. "$TOP/test/integration/shell_lib.sh"
need_host "many elements at once"
trap finish EXIT
cd "$T" || exit 1
[ -e "$B/test/corpus/shell/batch.bpf.o" ] || skip_all "many elements at once" "no clang"
cp "$B/test/corpus/shell/batch.bpf.o" .
N=${ELEMENTS:-20000}
decided() { "$S" -o json status </dev/null | sed 's/.*"decisions":\([0-9]*\).*/\1/'; }

job batch --ranks 2 --procs 2 --rate 100
status 0 "load" policy load batch.bpf.o
status 0 "use" policy use batch
before=$(decided)
awk -v n=$N 'BEGIN { print "key\tvalue"; for (i = 0; i < n; i++) print i "\t" i * 3 }' >all.tsv
status 0 "load $N elements" -o tsv -q map load many all.tsv
has "says how many" out "$N"

# ---- a dump while the job decides
status 0 "dump them all" -r 0 -o tsv -q map dump many limit=all
awk -F '\t' -v n=$N '$3 + 0 < n { if ($4 != $3 * 3) bad = 1; if (!seen[$3]++) k++ }
	END { exit bad || k != n }' out
ok "each of the $N that stay is there" $?
status 0 "without limit=" -r 0 -o json map dump many
[ "$(grep -o '"key"' out | wc -l)" -ge 10000 ] && grep -q '"more":true' out
ok "10000, and that there are more" $?
decided_more() { after=$(decided) && [ "$after" -gt "$before" ]; }
await decided_more
ok "decisions went on" $?

# ---- several keys
status 0 "several keys" -r 0 -o tsv -q map get many 7 $((N - 1)) 12
[ "$(cut -f3,4 out | tr '\t\n' '= ')" = "7=21 $((N - 1))=$((3 * N - 3)) 12=36 " ]
ok "in the order asked" $?
status 1 "one is not there" -r 0 -o tsv -q map get many 7 100001 1000002
has "it is named, as typed" err "no element of the keys 100001, 1000002"
has "the other is shown" out "21"
fails 1 no_such_key "a single one that is not there" -r 0 map get many 100001
status 0 "store three" -o tsv -q map set many 7 1 8 2 9 3
status 0 "remove three" map remove many 7 8 9
status 1 "they are gone" -r 0 map get many 7 8 9
seq 1000 1099 | sed 's/$/ 5/' | tr '\n' ' ' >hundred
status 0 "a hundred in one command" -o tsv -q map set many $(cat hundred)
has "all stored" out 100
status 0 "and read in one" -r 0 -o tsv -q map get many $(seq 1000 1099)
[ "$(grep -c '	5$' out)" -eq 100 ]
ok "all of them" $?

# ---- a failure in the midst
fails 1 exists "a key that is there, and flags=new" map set many 200001 1 200002 1 12 1 200003 1 \
	flags=new
status 0 "those before it are stored" -r 1 -o tsv -q map get many 200001 200002
status 1 "those behind it are not" -r 1 map get many 200003

# ---- a coherent map: all or nothing
status 0 "store three at one fence" -o table map set limits 0 '{bytes=4M, channels=2}' \
	1 '{bytes=64K, algo=ring, channels=4}' 2 '{channels=1}'
has "is a change" out "committed, generation 2"
status 0 "sizes are numbers" -r 0 -o tsv -q map get limits 0
has "of bytes" out "bytes=4194304"
status 0 "dry: nothing is stored" -r 0 -o table -n map set many 500001 1 500002 2
has "and says so" out "nothing has changed"
status 1 "dry: a key that is there, and flags=new" -n map set many 200001 1 flags=new
status 1 "dry: no such element" -n map remove many 500001
status 1 "nothing was stored" -r 0 map get many 500001
fails 1 exists "one of three fails" map set limits 7 '{}' 1 '{}' 8 '{}' flags=new
status 1 "nothing" -r 0 map get limits 7
seq 3 99 | sed 's/$/	{bytes=1}/' | sed '1i key	value' >coherent.tsv
status 0 "ninety-seven at one fence" -o table map load limits coherent.tsv
has "one generation" out "committed, generation 3"
status 64 "of a kind that does not fit" map load limits all.tsv
{ printf 'key\tvalue\n'; seq 200 300 | sed 's/$/	{}/'; } >full.tsv
fails 1 map_full "more than there is room for" map load limits full.tsv
status 0 "undo" policy undo
status 1 "takes back all of them" -r 0 map get limits 50
status 0 "remove two at one fence" map remove limits 0 1
fails 1 no_such_key "one that is not there" map remove limits 2 1
status 0 "it is there" map get limits 2

# ---- files
status 0 "a dump as csv" -r 0 -o csv map dump limits
cp out limits.csv
status 0 "as ndjson" -r 0 -o ndjson map dump limits
cp out limits.ndjson
status 0 "as json" -o json map dump limits
cp out limits.json
for f in csv ndjson json; do
	status 0 "remove it" map remove limits 2
	status 0 "load it from $f" map load limits limits.$f
	status 0 "it is there again" -r 1 -o tsv -q map get limits 2
	has "as it was" out "channels=1"
done
printf 'key\tvalue\n1\t{bytes=1}\n2\t{bites=1}\n' >wrong.tsv
fails 64 bad_argument "a wrong field" map load limits wrong.tsv
printf 'a\tb\n1\t2\n' >wrong.tsv
fails 65 malformed "no header" map load limits wrong.tsv
status 66 "no file" map load limits none.tsv
status 0 "a value for all CPUs" map set per_cpu 1 7
status 0 "is one for each" -r 0 -o tsv -q map get per_cpu 1
! grep -qv '	7$' out
ok "the same" $?

# ---- Lua
cat >batch.lua <<'EOF'
local t = assert(nb.attach { job = "batch" })
local function value(map, key)
	local r = t:map_get { map, key }
	return r and r.entries[1].value
end
local n, from = 0, nil
repeat
	local r = assert(t:map_dump { "many", limit = 1024, after = from })
	for _, e in ipairs(r.entries) do
		if e.key < math.tointeger(arg[1]) then n = n + 1 end
		from = e.key
	end
until not r.more
print("pages", n)
local set = { "many" }
for i = 1, 1000 do
	set[#set + 1] = 300000 + i
	set[#set + 1] = i
end
print("set", t:map_set(set).changed, value("many", 301000))
print("removed", t:map_remove { "many", 1000, 1001 }.changed, value("many", 1000))
print("several", #t:map_get { "many", 300001, 300002 }.entries)
local x, err = t:map_get { "many", 300001, 300002, 7 }
print("absent", x, err.code, #err.data.entries)
x, err = t:map_set { "many", 12, 1, 11, 1, flags = "new" }
print("error", x, err.code, err.object)
local c = t:map_set { "limits", 1, { bytes = 5 }, 90, { channels = 3 } }
print("coherent", c.state, value("limits", 90).channels)
x, err = t:map_set { "limits", 91, {}, 1, {}, flags = "new" }
print("nothing", x, err.object, value("limits", 91))
EOF
run -f batch.lua $N
tr '\t' ' ' <out >flat
cat flat >>why
for want in "pages $((N - 3))" "set 1000 1000" "removed 2 nil" "several 2" \
		"absent nil no_such_key 2" "error nil exists key 12" "coherent committed 3" \
		"nothing nil key 1 nil"; do
	grep -qxF "$want" flat
	ok "Lua: $want" $?
done
messages
