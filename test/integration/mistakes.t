#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Mistakes that authors of a first policy make. Each is answered with what
# to change, and the policy with that change is accepted.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

# mistake NAME: make NAME.bpf.c of the text on standard input
mistake() {
	case=$1
	{ echo '#include "ncclbpf_policy.h"'; cat; } >"$case.bpf.c"
}

# answered STATUS WHAT TEXT...: the verdict on the mistake has each text
answered() {
	want=$1 what=$2
	shift 2
	run -o table policy verify "$case.bpf.c"
	cat "$T/err" >>"$T/out"
	[ "$rc" -eq "$want" ] || echo "status $rc, not $want" >>"$T/why"
	has "$what: the answer names it and what to change" out "$@"
	[ "$rc" -eq "$want" ]
	ok "$what: status $want" $?
}

# fixed SED: the change that the answer asks for makes it pass, without a note
fixed() {
	sed "$1" "$case.bpf.c" >"$case.fixed.bpf.c"
	! cmp -s "$case.bpf.c" "$case.fixed.bpf.c"
	ok "$case: the change is one" $?
	run -o table policy verify "$case.fixed.bpf.c"
	[ "$rc" -eq 0 ] && ! grep -q '^note' "$T/out"
	ok "$case: with the change it is accepted" $?
}

mistake section <<'E'
SEC("tunr")
int p(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	return 0;
}
E
answered 65 "a typo in SEC" 'section "tunr" names no hook' "nearest: tuner"
fixed 's/tunr/tuner/'

mistake field <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	if (ctx->byte > 4096)
		ctx->channels = 4;
	return 0;
}
E
answered 65 "a wrong field" \
	"field.bpf.c:5:11: error: no member named 'byte' in 'struct ncclbpf_tuner'" \
	"did you mean 'bytes'?"
fixed 's/byte /bytes /'

mistake loop <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	__u32 left = ctx->ranks;
	while (left != 3)
		if (ctx->coll == 9)
			left--;
	ctx->channels = left;
	return 0;
}
E
answered 2 "a loop without a bound" "this loop has no bound" "loop.bpf.c:" \
	"stop at a constant: for (i = 0; i < N; i++)"
fixed 's/while (left != 3)/for (int i = 0; i < 8; i++)/; s/= left;/= left \& 15;/'

mistake bounds <<'E'
static const __u32 wanted[8] = { 1, 2, 4, 8, 8, 16, 16, 32 };
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	__u32 class = ncclbpf_log2(ctx->bytes);
	ctx->channels = wanted[class];
	return 0;
}
E
answered 2 "an index out of bounds" "bounds.bpf.c:7" "wanted[0 to 63], but there are 8 elements" \
	"before line 7 add: if (class >= 8) return 0;"
fixed '7s/^/if (class >= 8) return 0;/'

mistake null <<'E'
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} limits SEC(".maps") __coherent;
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	__u32 *v = bpf_map_lookup_elem(&limits, &key);
	ctx->channels = *v;
	return 0;
}
E
answered 2 "a forgotten test for NULL" "a pointer that may be NULL is dereferenced" \
	"made by bpf_map_lookup_elem(&limits) in line 12" "after line 12 add: if (!v) return 0;"
fixed '12s/$/ if (!v) return 0;/'

mistake local <<'E'
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} seen SEC(".maps");
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	__u32 key = ctx->coll;
	__u32 *v = bpf_map_lookup_elem(&seen, &key);
	if (v)
		ctx->channels = *v;
	return 0;
}
E
answered 2 "a local map decides" "an output depends on data that differs between ranks" \
	"map seen is not __coherent" "tag map seen __coherent"
fixed 's/SEC(".maps")/& __coherent/'

mistake stack <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	volatile __u8 room[600];
	room[ctx->coll & 511] = 1;
	ctx->channels = room[ctx->coll & 511];
	return 0;
}
E
answered 65 "too large a stack" "stack limit of 512 bytes is exceeded" "per-cpu array map"
sed 's/room\[600\]/room[256] = { 0 }/; s/& 511/\& 255/' stack.bpf.c >stack2.bpf.c
mv stack2.bpf.c stack.fixed.bpf.c
status 0 "stack: with less it is accepted" policy verify stack.fixed.bpf.c

mistake helper <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	ctx->channels = ncclbpf_log(ctx->bytes);
	return 0;
}
E
answered 65 "an unknown helper" "symbol ncclbpf_log is used and not defined" \
	"helper.bpf.c:5:18: error: implicit declaration of function 'ncclbpf_log'" \
	"did you mean 'ncclbpf_log2'?"
sed 's/ncclbpf_log(ctx->bytes)/bpf_map_lookup_element(ctx)/' helper.bpf.c >helper2.bpf.c
run policy verify helper2.bpf.c
has "the nearest names, where clang knows none" err "nearest: bpf_map_lookup_elem"
fixed 's/ncclbpf_log(/ncclbpf_log2(/'

mistake size <<'E'
struct old { __u64 bytes; };
struct limit { __u64 bytes; __u32 channels; };
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, struct old);
} limits SEC(".maps") __coherent;
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	__u32 key = 0;
	struct limit *l = bpf_map_lookup_elem(&limits, &key);
	if (l)
		ctx->channels = l->channels & 63;
	return 0;
}
E
answered 2 "a struct of another size" "an access outside a map's value" "struct old, 8 bytes" \
	"define map limits with the larger type: __type(value, ...)"
fixed 's/struct old);/struct limit);/'

mistake unfinished <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	if (ctx->ranks > 8)
		ctx->channels = 4;
}
E
answered 2 "a function without return" "end the function with a return statement: return 0;" \
	"unfinished.bpf.c:7:1: warning: non-void function does not return a value"
echo 'return { policy = "unfinished.bpf.c", { context = { coll = 0, bytes = 1 }, answer = {} } }' \
	>unfinished_test.lua
run policy test unfinished_test.lua
has "as policy test says" err "return 0;" "warning: non-void function"
fixed 's/^}$/return 0; }/'

mistake past <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	uint64_t factor[2] = { 2, 3 }, sum = 0;

	for (int i = 0; i <= 2; i++)
		sum = ncclbpf_sat_add(sum, ncclbpf_sat_mul(ctx->bytes, factor[i]));
	ctx->channels = 1 + (sum & 7);
	return 0;
}
E
answered 2 "an index past an array's end" "look for an index past an array's end"
fixed 's/<= 2/< 2/'

mistake fraction <<'E'
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	if (ctx->bytes * 0.9 > 4096)
		ctx->channels = 4;
	return 0;
}
E
answered 65 "floating point" "fraction.bpf.c:5:" "is not supported" \
	"policies have no floating point: multiply by whole numbers"
fixed 's/bytes . 0.9 > 4096/bytes * 9 > 40960/'

mistake libc <<'E'
#include <stdlib.h>
SEC("tuner")
int p(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	return 0;
}
E
answered 65 "a header of libc" "file not found" "policies cannot include libc headers"
fixed '/stdlib/d'

mistake hook <<'E'
SEC("profiler/coll_done")
int p(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 4;
	return 0;
}
E
answered 2 "a policy for another hook" "a store into an input field of the context" \
	"struct ncclbpf_coll_done has none" "only observe" 'SEC("tuner") and struct ncclbpf_tuner'
fixed 's/profiler.coll_done/tuner/'

echo 'allreduce,4M,32M,ring,ll129,8,1,-1,-1,-1' >cell.csv
run policy verify cell.csv
[ "$rc" -eq 65 ]
ok "a wrong cell of a table: status 65" $?
has "a wrong cell of a table: the answer names it and what to change" err \
	'protocol is "ll129", but must be ll, ll128, simple, or -1' \
	"at cell.csv:1:23" "nearest: ll128"
sed -i 's/ll129/ll128/' cell.csv
status 0 "cell: with the change it is accepted" policy verify cell.csv
