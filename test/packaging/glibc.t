#!/bin/sh
# SPDX-License-Identifier: MIT
# Our libraries load with glibc 2.28 and later: they need no newer symbol.
n=0
for lib in libncclbpf.so libncclbpf-load.so ncclbpf/libncclbpf-verbs.so lua/ncclbpf.so; do
	n=$((n + 1))
	versions=$(objdump -T "$B/$lib" | grep -oE 'GLIBC_2\.[0-9]+' | sort -u -t. -k2n)
	newest=$(echo "$versions" | tail -1)
	[ -n "$newest" ] && [ "${newest#GLIBC_2.}" -le 28 ] &&
		echo "ok $n - $lib needs at most glibc 2.28 ($newest)" && continue
	echo "not ok $n - $lib needs $newest"
	objdump -T "$B/$lib" | grep -F "$newest" | sed 's/^/# /'
done
echo "1..$n"
