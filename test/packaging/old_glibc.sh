#!/bin/sh
# SPDX-License-Identifier: MIT
# old_glibc.sh FOLDER PACKAGES ANSWERS: a Debian 11 (glibc 2.31) in FOLDER builds the
# plugin and installs the one of PACKAGES, which Debian 12 built. NCCL's stand-in calls
# every interface of both. Removed, the package leaves nothing. ANSWERS: the folder of
# the stand-in's policies. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 packages=$2 answers=$3
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
log=$root.try.log
calls() { # library
	root_run env NCCLBPF_SOCKET_DIR=/tmp NCCLBPF_JOB=old \
		/src/ncclbpf/$check "$1" /answers >"$log" 2>&1 && ! grep -q '^not ok' "$log"
	say $? "$1 answers NCCL's calls in Debian 11 ($(grep -c '^ok' "$log") checks)" "$log"
}
# As NCCL does it: the names alone, found by the loader's cache.
loads() { # kind...
	root_run perl -MDynaLoader -e 'for (@ARGV) {
		DynaLoader::dl_load_file("libnccl-$_.so") or die DynaLoader::dl_error(), "\n"
	}' "$@"
}
# Without what apt-get and dpkg note of their work.
files() {
	find "$root" -xdev -path "$root/var" -prune -o -path "$root/tmp" -prune -o -print | sort
	ldconfig -p -C "$root/etc/ld.so.cache" | grep nccl
}
removed() {
	root_run apt-get purge -y -qq libncclbpf || return
	files >"$root.left"
	diff "$root.files" "$root.left"
}

root_make bullseye make gcc libc6-dev pkg-config
plugin=build/release/libncclbpf.so check=build/release/test/fakes/host/abi_check
try "the plugin builds in Debian 11" root_run \
	make -j"$(nproc)" -C /src/ncclbpf VARIANT=release $plugin $check
[ $bad -eq 0 ] || exit 1
mkdir -p "$root/answers" "$root/packages"
cp "$answers"/*.policy "$root/answers/" && cp "$packages"/libncclbpf_*.deb "$root/packages/"
calls /src/ncclbpf/$plugin
files >"$root.files"
try "apt-get installs the plugin's package, and no other" documented libncclbpf
[ $bad -eq 0 ] || exit 1
calls libnccl-tuner-ncclbpf.so
try "the loader finds the others by their names" loads profiler-ncclbpf net-ncclbpf \
	env-ncclbpf net-tcp
try "removing the package leaves nothing" removed
echo "1..$n"
exit $bad
