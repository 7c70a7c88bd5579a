# SPDX-License-Identifier: MIT
# Sourced by trace*.t: a running job of the stand-in host.
. "$TOP/test/integration/shell_lib.sh"
[ -x "$B/test/fakes/host/standin" ] || skip_all "trace" "the mock NCCL (standin) was not built"
trap finish EXIT
cd "$T" || exit 1
P=$B/libncclbpf.so
C=$TOP/test/integration/trace_check.lua

standin() { # JOB ARGS...
	name=$1
	shift
	NCCL_TUNER_PLUGIN=$P NCCLBPF_JOB=$name timeout 0 "$B/test/fakes/host/standin" --events \
		--seconds inf "$@" >"$T/$name.out" 2>&1 &
	jobs="$jobs $!"
	job=$!
	await timeout 300 "$S" -q attach "$name" >/dev/null 2>&1
	need "a job: $name" $?
}
truth() { # CODE: over d, the data of the JSON answer in $T/out
	cp "$T/out" "$T/truth.in"
	lua_run -e '
		local core = require "ncclbpf.core"
		local ok, d = pcall(function() return core.decode(io.read "a") end)
		assert(ok, d)
		if d.data then d = d.data end
		'"$1" <"$T/truth.in" 2>>"$T/why"
}
state() { # JOB CODE: trace status says so, of each process p
	run -J "$1" -o json trace status
	truth "
		for _, p in ipairs(d.processes) do
			p = p.data
			assert($2, require 'ncclbpf.core'.encode(p))
		end" 2>/dev/null
}
chrome() { # NAME FILE CODE
	lua_run "$C" "$2" "$3" >"$T/why" 2>&1
	ok "$1" $?
}
silent='#p.asked == 0 and #p.events == 0 and p.traces == 0'
kept() { grep -q '"ph":"X"' "$1" 2>/dev/null; } # is there an event in the file?
