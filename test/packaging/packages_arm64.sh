#!/bin/sh
# SPDX-License-Identifier: MIT
# packages_arm64.sh FOLDER PACKAGES ARM64 BUILD: the arm64 packages in PACKAGES,
# judged by lintian; then unpacked in FOLDER with the Debian packages that they
# name as dependencies and nothing else, and used there under qemu-user: the
# shell on a running job of NCCL's stand-in. ARM64: the build folder of the
# stand-in, BUILD: that of the policies. Needs no root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 packages=$2 arm64=$3 build=$4
. "$TOP/test/packaging/root.sh"
log=$root.log
lib=$root/usr/lib/aarch64-linux-gnu
sockets=$(mktemp -d)
job=
finish() {
	[ -n "$job" ] && kill "$job" 2>/dev/null && wait "$job" 2>/dev/null
	rm -rf "$sockets"
}
trap finish EXIT INT TERM
export NCCLBPF_SOCKET_DIR="$sockets" NCCLBPF_JOB=arm64 HOME="$sockets"
emulate() { timeout 0 qemu-aarch64 -L "$root" "$@"; }
shell() { emulate "$root/usr/bin/ncclbpf-shell" "$@"; }

lintian --no-cfg --allow-root --fail-on error,warning \
	--suppress-tags initial-upload-closes-no-bugs "$packages"/*.changes >"$log" 2>&1
say $? "lintian finds no error and no warning" "$log"
say_depends "$packages"
rm -f "$root.complete"
"$TOP/packaging/sysroot.sh" "$root" arm64 lua5.4 $(find "$(cd "$packages" &&
	pwd)" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' | sort) >"$log" 2>&1
say $? "apt finds all that the packages depend on among Debian's arm64 packages" "$log"

others() { # Files of the packages that are not for arm64, or newer than glibc 2.28
	for f in "$lib"/libncclbpf*.so "$lib"/ncclbpf/*-verbs.so "$lib"/lua/5.4/ncclbpf.so \
			"$root"/usr/bin/ncclbpf-*; do
		file -b "$f" | grep -q 'ARM aarch64.*stripped$' || echo "$f: $(file -b "$f")"
		case $f in *.so) aarch64-linux-gnu-objdump -T "$f" | awk -v f="$f" '
			match($0, /GLIBC_2\.[0-9]+/) {
				v = substr($0, RSTART + 8, RLENGTH - 8)
				if (v + 0 > 28) print f ": needs glibc 2." v
			}
		' ;; esac
	done
}
others >"$log" 2>&1 && [ ! -s "$log" ]
say $? "libraries and programs are arm64 code, libraries need at most glibc 2.28" "$log"
for p in "$root"/usr/share/ncclbpf/policies/*.policy; do
	cmp "$p" "$build/policies/${p##*/}"
done >"$log" 2>&1 && [ ! -s "$log" ]
say $? "arm64's front end makes the same policies as x86-64's, byte for byte" "$log"

emulate "$arm64/test/fakes/host/abi_check" "$lib/libncclbpf.so" \
	"$build/test/corpus/answers" >"$log" 2>&1 &&
	! grep -q '^not ok' "$log"
say $? "the plugin answers NCCL's calls ($(grep -c '^ok' "$log") checks)" "$log"
try "Lua finds the module" qemu-aarch64 -L "$root" "$root/usr/bin/lua5.4" -e \
	"package.path = '$root/usr/share/lua/5.4/?.lua;$root/usr/share/lua/5.4/?/init.lua'
	package.cpath = '$lib/lua/5.4/?.so' assert(require('ncclbpf').policy_verify)"

# A job under qemu-user, and the shell of the package attached to it.
NCCL_TUNER_PLUGIN="$lib/libncclbpf.so" \
	timeout 300 qemu-aarch64 -L "$root" "$arm64/test/fakes/host/standin" --ranks 2 --threads \
	--seconds inf --pause-ms 5 --min 1M --max 64M >"$root.job.log" 2>&1 &
job=$!
attached() { shell list 2>/dev/null | grep -q arm64; }
await while_lives $job attached
say $? "the shell finds the job" "$root.job.log"
try "the shell loads a policy into it" shell policy load \
	"$root/usr/share/ncclbpf/policies/size_aware.policy"
try "the shell puts the policy to use" shell policy use size_aware
decides() {
	shell explain allreduce 4M >"$log" 2>&1 && grep -q size_aware "$log" &&
		! grep -q pending "$log"
}
await while_lives $job decides
say $? "the policy decides, as arm64 machine code" "$log"
try "the shell undoes the change" shell policy undo
echo "1..$n"
exit $bad
