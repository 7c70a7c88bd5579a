# SPDX-License-Identifier: MIT
# Sourced by install.t and install_release.t: what an installation leaves, and that it works
# from there: libraries, names, header, pkg-config file, Lua module.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/log
is() { # name, command...
	name=$1
	shift
	"$@" >"$dir/log" 2>&1
	say $? "$name"
}

# installation TARGET [NAME=value...]: install, use, uninstall
installation() {
	: >"$dir/log"
	make -C "$TOP" "$@" DESTDIR="$dir" PREFIX=/usr >"$dir/log" 2>&1
	say $? "make $1 DESTDIR= PREFIX="
	lib=$dir/usr/lib
	so=$lib/libncclbpf.so

	for k in nccl-tuner nccl-profiler nccl-net nccl-gin nccl-rma nccl-env rccl-tuner \
		rccl-profiler rccl-net; do
		is "lib$k-ncclbpf.so names the plugin" test \
			"$(readlink "$lib/lib$k-ncclbpf.so")" = libncclbpf.so
	done
	is "front end beside the plugin" test -f "$lib/libncclbpf-load.so"
	is "TCP transports beside the plugin" test -f "$lib/libnccl-net-tcp.so"
	for k in nccl-gin nccl-rma rccl-net; do
		is "lib$k-tcp.so names them" test \
			"$(readlink "$lib/lib$k-tcp.so")" = libnccl-net-tcp.so
	done

	for l in "$so" "$lib/libnccl-net-tcp.so"; do
		ldd "$l" >"$dir/log"
		! grep -vE 'linux-vdso|libc\.so\.6|ld-linux|libpthread|libdl|libm\.so' "$dir/log" |
			grep -q '=>'
		say $? "${l##*/} needs libc alone"
	done
	size=$(stat -c %s "$so")
	nm -D --defined-only "$so" | awk '{ print $3 }' | sort >"$dir/log"
	! grep -qvE '^nccl(Tuner|Net|CollNet|Env|Gin|Rma)?(Plugin|Profiler)_v[0-9]+$' "$dir/log"
	say $? "only NCCL's symbols are exported"
	nm -D --defined-only "$lib/libnccl-net-tcp.so" | awk '{ print $3 }' >"$dir/log"
	! grep -qvE '^(nccl(Net|Gin|Rma)Plugin|ncclbpf(Net|Gin)Extension)_v[0-9]+$' "$dir/log"
	say $? "and by the TCP transports NCCL's and two tables more"
	nm -D --defined-only "$so" | awk '{ print $3 }' >"$dir/names"
	for v in 2 3 4 5 6 7; do
		grep -qx "ncclTunerPlugin_v$v" "$dir/names"
		say $? "exports ncclTunerPlugin_v$v"
	done
	readelf -lW "$so" | grep GNU_STACK >"$dir/log"
	! grep -q RWE "$dir/log"
	say $? "no executable stack"

	export PKG_CONFIG_PATH=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir
	is "pkg-config knows it" pkg-config --exists ncclbpf
	is "pkg-config says where policies are" test -d "$(pkg-config --variable=policydir ncclbpf)"
	cat >"$dir/p.bpf.c" <<'P'
#include "ncclbpf_policy.h"
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	ctx->algo = NCCL_ALGO_RING;
	return 0;
}
P
	# shellcheck disable=SC2046
	is "a policy compiles against the installed header" clang -target bpf -O2 -g \
		$(pkg-config --cflags ncclbpf) -c "$dir/p.bpf.c" -o "$dir/p.bpf.o"
	is "the installed shell verifies it" "$dir/usr/bin/ncclbpf-shell" policy verify \
		"$dir/p.bpf.o"
	is "and the installed policies" "$dir/usr/bin/ncclbpf-shell" policy verify \
		"$dir/usr/share/ncclbpf/policies/size_aware.policy"
	for costs in "$TOP"/policies/costs/*.ndjson; do
		costs=policies/costs/${costs##*/}
		is "and knows NCCL's costs in $costs" "$dir/usr/bin/ncclbpf-shell" policy run none \
			"costs=$dir/usr/share/ncclbpf/$costs"
	done
	LUA_PATH="$dir/usr/share/lua/5.4/?.lua;$dir/usr/share/lua/5.4/?/init.lua" \
		LUA_CPATH="$lib/lua/5.4/?.so" lua5.4 -e '
			local nb = require "ncclbpf"; assert(type(nb.attach) == "function")
		' >"$dir/log" 2>&1
	say $? "plain lua5.4 requires the module"
	for page in man1/ncclbpf-shell.1 man1/ncclbpf-agent.1 man3/ncclbpf.3lua \
		man5/ncclbpf-rollout.5; do
		is "share/man/$page" grep -q '^\.Sh SEE ALSO' "$dir/usr/share/man/$page"
	done
	is "share/doc has the tables" grep -q '^| `bytes` | uint64_t' \
		"$dir/usr/share/doc/ncclbpf/docs/reference.md"
	make -C "$TOP" uninstall DESTDIR="$dir" PREFIX=/usr >"$dir/log" 2>&1
	find "$dir/usr" -type f >>"$dir/log"
	[ -z "$(find "$dir/usr" \( -type f -o -type l \))" ]
	say $? "make uninstall leaves nothing"
}
