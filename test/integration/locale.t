#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# No locale changes what is written or read: not that of the application, whose numbers have a
# decimal sign of two bytes or a comma and whose i has no capital I, and not that of the shell.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "locales" "the mock NCCL (standin) was not built"
LOCALES="tr_TR ps_AF de_DE"
export LOCPATH="$T/locales"
mkdir "$LOCPATH"
for l in $LOCALES; do
	localedef -i "$l" -f UTF-8 "$LOCPATH/$l.UTF-8" >"$T/localedef" 2>&1 ||
		skip_all "locales" "localedef cannot make $l (Debian package locales)"
done
trap finish EXIT
cd "$T" || exit 1

printf 'allReduce,0,16777216,RING,SIMPLE,2,-1,-1\n' >t.csv
cat >script.lua <<'E'
io.write(("simple"):upper(), " ", ("SIMPLE"):lower(), " ", ("%.1f %s"):format(1.5, 1.5), " ",
	tonumber "1.5" + 1, " ", os.setlocale "de_DE.UTF-8" or "kept", " ",
	os.setlocale(nil, "numeric"), "\n")
E

for l in $LOCALES; do
	LC_ALL=$l.UTF-8
	export NCCLBPF_JOB=$l
	STANDIN_LOCALE=1 NCCL_TUNER_PLUGIN=$B/libncclbpf.so timeout 0 \
		"$B/test/fakes/host/standin" --events --ranks 2 --procs --seconds inf --pause-ms 5 \
		--min 1M --max 64M --factor 4 --table "$TOP/test/fakes/vgpu/b300.csv" \
		>"$l.out" 2>&1 &
	jobs="$jobs $!"
	measured() { run metrics && grep -q 'algo_proto="R.NG_S.MPLE"' "$T/out"; }
	await timeout 300 "$S" -q attach "$l" >/dev/null 2>&1
	need "a job: $l" $?
	status 0 "$l: words of a table" policy load t.csv
	status 0 "$l: in use" policy use t
	status 0 "$l: telemetry" telemetry on
	await measured
	has "$l: algorithm and protocol of a metric" out 'algo_proto="RING_SIMPLE"'
	grep -v '^#' out >lines
	! LC_ALL=C grep -vE '^[a-z0-9_]+(\{.*\})? ([0-9.e+-]+|\+Inf)$' lines >why
	ok "$l: and its numbers" $?
	status 0 "$l: explain" -o json explain allreduce 16M
	LC_ALL=C grep -qE '"costs_us":\[[0-9]+\.[0-9]+,' out
	ok "$l: has costs with a decimal point" $?
	status 0 "$l: titles" -o table list
	has "$l: in ASCII capitals" out PIDS
	status 0 "$l: a script" -f script.lua
	echo "SIMPLE simple 1.5 1.5 2.5 kept C" | diff - out >why
	ok "$l: computes as in C, and keeps the shell's locale" $?
	kill "$!"
	lua_run - >out 2>why <<'E'
local os_locale = os.setlocale -- as an application may
assert(os_locale(os.getenv "LC_ALL", "ctype"))
local nb = require "ncclbpf"
assert(nb.policy_verify { { { coll = "ALLREDUCE", algo = "RING", proto = "SIMPLE" } } })
assert(nb.size "1K" == 1024)
E
	ok "$l: words in another application's Lua" $?
done
LC_ALL=C.UTF-8
lua_run -e 'os.setlocale "de_DE.UTF-8" require "ncclbpf"' >out 2>err
has "another application's Lua is refused with a comma in numbers" err \
	'writes 0.5 as 0,5' 'os.setlocale("C", "numeric")'
