#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# Our libraries load with glibc 2.28 and later: they need no newer symbol. The
# programs need libbpf 1 or GnuTLS of the same systems, and start with glibc 2.34
# (RHEL 9), the oldest that such systems have.
n=0
newest() { objdump -T "$B/$1" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u -t. -k2n | tail -1; }
at_most() { # file, minor version
	n=$((n + 1))
	version=$(newest "$1")
	[ -n "$version" ] && [ "${version#GLIBC_2.}" -le "$2" ] &&
		echo "ok $n - $1 needs at most glibc 2.$2 ($version)" && return
	echo "not ok $n - $1 needs $version"
	objdump -T "$B/$1" | grep -F "$version" | sed 's/^/# /'
}
for lib in libncclbpf.so libncclbpf-load.so libnccl-net-tcp.so ncclbpf/libncclbpf-verbs.so \
		lua/ncclbpf.so; do
	at_most $lib 28
done
for program in ncclbpf-shell ncclbpf-agent; do at_most $program 34; done
# Every file that make install strips was asked.
n=$((n + 1))
shipped=$(grep -oE 'install \$\(STRIP\) .*' "$TOP/packaging/packaging.mk" |
	grep -oE '\$\(RELEASE\)/[^ ]+' | wc -l)
[ "$shipped" -eq $((n - 1)) ] || printf 'not '
echo "ok $n - these are all $shipped files that make install strips"
echo "1..$n"
