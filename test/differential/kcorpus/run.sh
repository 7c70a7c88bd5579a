#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh BUILD: compile the kernel's verifier self-tests and compare verdicts
# on them, the running kernel's and ours. The source is GPL: it is compiled in
# the build folder and never kept. LINUX=dir names a kernel tree (or a
# directory under which tools/testing/selftests/bpf is); without, Debian's
# package linux-source-6.12 is looked for. DOC=file writes the table into it.
# Ends with "N passed, N failed, N skipped".
set -u
TOP=$(cd "$(dirname "$0")/../../.." && pwd)
B=$(cd "$1" && pwd)
work=$B/kcorpus
tests=tools/testing/selftests/bpf

skip() {
	echo "check-kernel-corpus: skipped: $1"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
}

linux=${LINUX:-}
if [ -z "$linux" ]; then
	tar=$(find /usr/src -maxdepth 1 -name 'linux-source-6.12.tar.*' 2>/dev/null | head -1)
	linux=$work/linux-source-6.12
	if [ ! -d "$linux/$tests" ]; then
		[ -n "$tar" ] ||
			skip "no kernel source; give LINUX=dir, or run test/setup.sh corpus"
		echo "unpacking $tar"
		mkdir -p "$work"
		tar -C "$work" -xf "$tar" "linux-source-6.12/$tests" \
			linux-source-6.12/tools/include linux-source-6.12/tools/lib/bpf || exit 1
	fi
fi
[ -d "$linux/$tests/progs" ] || skip "$linux has no $tests"
linux=$(cd "$linux" && pwd)
work=$work/$(echo "$linux" | cksum | cut -d' ' -f1) # the sources' own objects
mkdir -p "$work/o" "$work/inc"
[ "$(id -u)" -eq 0 ] || skip "bpf() needs root"
clang=$(command -v clang-19 || command -v clang) || skip "no clang"
bpftool=$(PATH=$PATH:/usr/sbin command -v bpftool) ||
	skip "no bpftool; run test/setup.sh corpus"

"$B/test/differential/kcorpus/kcorpus" permitted || skip "bpf() is not permitted here"

# Types of the running kernel, and libbpf's helper list.
[ -s "$work/inc/vmlinux.h" ] ||
	"$bpftool" btf dump file /sys/kernel/btf/vmlinux format c >"$work/inc/vmlinux.h" ||
	skip "the running kernel shows no types"

compile() { # file
	name=$(basename "$1" .c)
	[ "$work/o/$name.o" -nt "$1" ] && return
	"$clang" -target bpf -mcpu="$cpu" -O2 -g -w -D__TARGET_ARCH_x86 -DENABLE_ATOMICS_TESTS \
		-I"$work/inc" -I"$linux/$tests" -I"$linux/$tests/libarena/include" \
		-I"$linux/tools/lib" -I"$linux/tools/include/uapi" \
		-I"/usr/include/$(uname -m)-linux-gnu" -I/usr/include/bpf \
		-idirafter "$linux/tools/include" \
		-c -o "$work/o/$name.o" "$1" 2>"$work/o/$name.err" ||
		rm -f "$work/o/$name.o"
}
cpu=v4
echo 'int f(void) { return 0; }' |
	"$clang" -target bpf -mcpu=v4 -c -o /dev/null -x c - 2>/dev/null ||
	cpu=v3
# The older form: arrays of instructions, printed by a program made of them.
arrays() {
	cut=$linux/$tests/test_verifier.c
	sed -n '/^#define BPF_SK_LOOKUP/,/^static/p' "$cut" | sed '$d' >"$work/inc/macros.inc"
	for f in "$linux/$tests"/verifier/*.c; do
		echo "FILE_BEGINS(\"$(basename "$f" .c)\")"
		echo "#include \"$f\""
	done >"$work/inc/arrays.inc"
	cc -w -I"$work/inc" -I"$linux/$tests" \
		-idirafter "$linux/tools/include/uapi" -idirafter "$linux/tools/include" \
		-o "$work/arrays" "$TOP/test/differential/kcorpus/arrays.c" &&
		"$work/arrays" >"$work/o/arrays.lines"
}
arrays || failed=" arrays.c"
n=0 failed=${failed:-}
for f in "$linux/$tests"/progs/verifier_*.c $(cat "$TOP/test/differential/kcorpus/also.txt" |
	sed -n "s|^\([a-z].*\)|$linux/$tests/progs/\1.c|p"); do
	[ -f "$f" ] || continue
	compile "$f" &
	n=$((n + 1))
	[ $((n % $(nproc))) -eq 0 ] && wait
done
wait
for f in "$work"/o/*.err; do
	[ -f "${f%.err}.o" ] || failed="$failed $(basename "$f" .err)"
done
echo "$n files, $("$clang" --version | head -1), -mcpu=$cpu; not compiled:${failed:- none}"

"$B/test/differential/kcorpus/kcorpus" "$TOP/test/differential/kcorpus/explained.txt" \
	"$work"/o/*.o "$work"/o/*.lines >"$work/table.txt"
rc=$?
cat "$work/table.txt"
if [ -n "${DOC:-}" ]; then
	awk -v table="$work/table.txt" '
		/^<!-- corpus:begin/ { print; print ""
			while ((getline line < table) > 0)
				if (line ~ /^\|/ || (line == "" && last != ""))
					print last = line
			skip = 1 }
		/^<!-- corpus:end/ { skip = 0 }
		!skip || /^<!-- corpus:end/ { if ($0 !~ /^<!-- corpus:begin/) print }
		' "$TOP/$DOC" >"$work/doc.md" && cp "$work/doc.md" "$TOP/$DOC"
fi
passed=$(grep -c '^ok ' "$work/table.txt")
failed=$(grep -c '^not ok ' "$work/table.txt")
[ "$rc" -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
echo "$passed passed, $failed failed, 0 skipped"
exit "$rc"
