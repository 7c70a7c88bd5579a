#!/bin/sh
# SPDX-License-Identifier: MIT
# old_glibc.sh FOLDER SO ANSWERS: a Debian 11 (glibc 2.31) in FOLDER builds the
# plugin, and NCCL's stand-in calls every interface of that plugin and of SO,
# which was built here. ANSWERS: the folder of its policies. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 so=$2 answers=$3
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
root_make bullseye make gcc libc6-dev pkg-config
plugin=build/release/libncclbpf.so check=build/release/test/fakes/host/abi_check
root_run make -j"$(nproc)" -C /src/ncclbpf VARIANT=release $plugin $check >"$root.build.log" 2>&1
say $? "the plugin builds in Debian 11" "$root.build.log"
[ $bad -eq 0 ] || exit 1
mkdir -p "$root/here"
cp "$so" "$root/here/libncclbpf.so" && cp "$answers"/*.policy "$root/here/"
for lib in /src/ncclbpf/$plugin /here/libncclbpf.so; do
	root_run env NCCLBPF_SOCKET_DIR=/tmp NCCLBPF_JOB=old \
		/src/ncclbpf/$check $lib /here >"$root.run.log" 2>&1 &&
		! grep -q '^not ok' "$root.run.log"
	say $? "$lib answers NCCL's calls in Debian 11 ($(grep -c '^ok' "$root.run.log") checks)" \
		"$root.run.log"
done
echo "1..$n"
exit $bad
