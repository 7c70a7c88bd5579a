#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Maps of all types as the shell shows and changes them.
. "$TOP/test/integration/shell_lib.sh"
need_host "maps of all types"
trap finish EXIT
cd "$T" || exit 1
[ -e "$B/test/corpus/shell/map_types.bpf.o" ] || skip_all "maps of all types" "no clang"
cp "$B/test/corpus/shell/map_types.bpf.o" .
job maps --ranks 1 --procs 1 --rate 200
status 0 "load" policy load map_types.bpf.o
status 0 "use" policy use map_types
recorded() {
	run -o tsv map dump ring limit=2
	[ "$(grep -c 29000000 "$T/out")" -eq 2 ]
}
await recorded

status 0 "list" -o tsv map list
has "with every type" out percpu_array lru_hash ringbuf
status 0 "a ring buffer's records" -o json map dump ring limit=2
has "as bytes, and the positions" out "hex:2900000000000000" '"produced"' '"consumed":0'
status 0 "they are not taken: once more" -o tsv -q map dump ring limit=1
has "the same" out "hex:2900000000000000"
fails 64 bad_argument "a key of another size" map get by_coll hex:000000
status 0 "per-CPU values" -o tsv -q map dump by_coll
has "of each CPU" out "7	0	0"
status 0 "variables by their names" -o tsv -q map dump .bss
has "and values" out counter 5
status 0 "one variable" -o tsv -q map get .bss counter
has "alone" out 5
messages
