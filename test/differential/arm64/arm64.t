#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: cpu  limit: 900  needs: qemu-aarch64,aarch64-linux-gnu-gcc
# The engines on 64-bit Arm, compiled across and run by qemu-user: unit tests
# (every lowering over edge values, random programs), callbacks,
# the corpus, and bpf_conformance's programs by both engines.
set -u
A=$B/arm64
skip() {
	echo "1..0 # SKIP arm64: $1"
	exit 0
}
command -v qemu-aarch64 >/dev/null || skip "no qemu-aarch64 (package qemu-user)"
[ -x "$A/test_jit" ] ||
	skip "no arm64 compiler when this was built (package gcc-aarch64-linux-gnu)"
dir=$(mktemp -d) || exit 73
trap 'rm -rf "$dir"' EXIT
cat >"$dir/plugin" <<EOF
#!/bin/sh
exec qemu-aarch64 "$A/conformance_plugin" "\$@"
EOF
chmod +x "$dir/plugin"

conformance() {
	for engine in --interpret --jit; do
		"$B/test/differential/conformance/run" "$dir/plugin" "$SHARED/conformance" \
			$engine
	done | awk '
		/^ok/ { ok++ }
		/^not ok/ { bad++; print "#", $0 }
		END {
			if (!ok && !bad) bad = 1
			printf "%s 1 - arm64: %d of %d conformance programs, two engines\n",
				bad ? "not ok" : "ok", ok, ok + bad
		}'
}

if [ -n "${SHARED:-}" ] && [ -d "$SHARED/conformance" ]; then
	conformance >"$dir/conformance.out" &
else
	echo "ok 1 - arm64 conformance # SKIP no data files in ../shared/conformance" \
		>"$dir/conformance.out"
fi
failed=0
# The corpus: images for the objects that are accepted, which the front end reads here.
mkdir -p "$dir/o/policies" "$dir/o/test/corpus"
for o in $(find "$B/policies" "$B/test/corpus" "$B/examples" -name '*.bpf.o' \
	! -path '*/corpus/reject/*' ! -path '*/corpus/cost/*' 2>/dev/null); do
	"$B/tools/policy_build" "$o" "$dir/o/test/corpus/$(echo "${o#"$B"/}" | tr / _ |
		sed 's/\.bpf\.o$//').policy" 2>/dev/null
done
B=$dir/o qemu-aarch64 "$A/test_agreement" >"$dir/agreement.out" 2>&1 ||
	{ failed=1; echo "not ok 1 - agreement" >>"$dir/agreement.out"; }
for t in interp callbacks perf_map compile_all jit_inline jit \
		jit_control jit_maps jit_pages jit_random; do
	JIT_PROGRAMS=${ARM64_PROGRAMS:-2000} \
		qemu-aarch64 "$A/test_$t" >"$dir/$t.out" 2>&1 ||
		{ failed=1; echo "not ok 1 - $t" >>"$dir/$t.out"; }
done
wait
grep -q '^not ok' "$dir/conformance.out" && failed=1
cat "$dir/conformance.out" "$dir"/interp*.out "$dir/callbacks.out" "$dir/perf_map.out" \
	"$dir/agreement.out" "$dir/compile_all.out" "$dir"/jit*.out | awk '
	/^(not )?ok /{ n++; sub(/ok [0-9]+/, "ok " n) } /^1\.\./{ next } { print }
	END { print "1.." n }'
exit $failed
