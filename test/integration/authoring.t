#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# From nothing to a tested policy: policy new, policy test, and C where objects
# are taken, in a live job too.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1

# ---- policy new -------------------------------------------------------------

status 0 "a new policy" -o table policy new made/mid-rings
for f in mid-rings.bpf.c mid-rings_test.lua Makefile compile_flags.txt; do
	[ -s "made/mid-rings/$f" ] || echo "no $f" >>"$T/why"
done
has "names the next three steps" out "    make -C made/mid-rings test" \
	"    ncclbpf-shell policy use made/mid-rings/mid-rings.bpf.c" "    ncclbpf-shell choices"
sed -n 's/^    ncclbpf-shell //p' out >steps
make -s -C made/mid-rings NCCLBPF="$S" mid-rings.policy test >"$T/out" 2>"$T/err"
ok "its Makefile verifies, builds and tests it as it is" $?
has "its cases pass" out "ok 4 - " "4 passed, 0 failed"
[ -s made/mid-rings/mid-rings.policy ]
ok "and the image is there" $?
clang $(cat made/mid-rings/compile_flags.txt) -Werror \
	-fsyntax-only made/mid-rings/mid-rings.bpf.c 2>"$T/why"
ok "the flags for editors are enough for clang" $?
status 73 "a folder that exists is not touched" policy new made/mid-rings
fails 64 usage "a name that is none in C" policy new 4rings
fails 64 usage "a name that is a keyword of C" policy new int
status 0 "a dry run" -n policy new other
[ ! -e other ]
ok "writes nothing" $?

# ---- policy test ------------------------------------------------------------

cat >cases_test.lua <<'E'
return {
	policy = "made/mid-rings/mid-rings.bpf.c",
	{ name = "right", context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring", proto = "ll128" } },
	{ name = "wrong protocol", context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring", proto = "simple" } },
	{ name = "an answer too many", context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring" } },
	{ name = "an answer too few", context = { coll = "allreduce", bytes = "1K" },
		answer = { channels = 4 } },
}
E
fails 64 usage "a policy instead of cases" policy test x.bpf.c
status 2 "a case that fails" policy test cases_test.lua
has "is TAP, with field, wanted and got" out "1..4" "ok 1 - right" "not ok 2 - wrong protocol" \
	"#   proto: wanted simple, got ll128" '#   context {bytes="8M", coll=allreduce}' \
	"not ok 3 - an answer too many" "#   proto: wanted NCCL's, got ll128" \
	"not ok 4 - an answer too few" "#   channels: wanted 4, got NCCL's" "1 passed, 3 failed"
status 0 "a folder of policy new stands for its test" policy test made/mid-rings
has "the cases in it ran" out "ok 1 - "
fails 66 no_input "a folder without a test" policy test made
status 2 "the same as JSON" -j policy test cases_test.lua
has "has the differences as data" out '"passed":1' '"failed":3' \
	'{"field":"proto","got":"ll128","wanted":"simple"}'

cat >maps_test.lua <<E
return {
	policy = { "made/mid-rings/mid-rings.bpf.c", "$TOP/policies/force.bpf.c" },
	{ name = "the second sees the first's answer", maps = { force = { [0] = { algo = -1,
		proto = -1, channels = 16, enabled = 1 } } },
		context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring", proto = "ll128", channels = 16 } },
	{ name = "maps begin anew", context = { coll = "allreduce", bytes = "8M" },
		answer = { algo = "ring", proto = "ll128" } },
}
E
status 0 "two policies, and a map by its fields" policy test maps_test.lua

cat >costs_test.lua <<E
return { policy = "$TOP/policies/cheap_ring.bpf.c", { name = "no job, no costs",
	context = { coll = "allreduce", bytes = "4K" }, answer = {} } }
E
status 0 "a policy that goes by costs leaves the choice to NCCL" policy test costs_test.lua

cat >count.bpf.c <<'E'
#include "ncclbpf_policy.h"
SEC("tuner")
int count(struct ncclbpf_tuner *ctx)
{
	ctx->channels = 1 + (ctx->seq & 7);
	return 0;
}
E
cat >steps_test.lua <<'E'
local c = { coll = "allreduce", bytes = "1M" }
return { policy = "count.bpf.c", { name = "steps count decisions",
	steps = { { context = c, answer = { channels = 1 } },
		{ context = c, answer = { channels = 3 } } } } }
E
status 2 "steps of one case" policy test steps_test.lua
has "names the step" out "#   step 2, channels: wanted 3, got 2"
sed -i 's/channels = 3/channels = 2/' steps_test.lua
status 0 "right ones pass" policy test steps_test.lua

wrong() { # NAME, text of the file
	echo "$2" >wrong_test.lua
	fails 65 malformed "$1" policy test wrong_test.lua
}
F='policy = "count.bpf.c"'
wrong "a file without a case" "return { $F }"
wrong "a wrong field of a case" "return { $F, { contxt = {}, answer = {} } }"
C="coll = 'allreduce', bytes = 1"
wrong "a wrong field of a context" \
	"return { $F, { name = 'a', context = { $C, rank = 3 }, answer = {} } }"
wrong "a wrong word" "return { $F, { context = { $C }, answer = { algo = 'rng' } } }"
wrong "a map that is not there" \
	"return { $F, { maps = { m = { 1 } }, context = { $C }, answer = {} } }"
echo 'return { policy = "loop.bpf.c", { context = {}, answer = {} } }' >wrong_test.lua
status 65 "a context without collective and size" policy test wrong_test.lua
sed 's/ctx->seq & 7/bpf_get_prandom_u32() \& 7/' count.bpf.c >random.bpf.c
sed 's/count.bpf.c/random.bpf.c/' steps_test.lua >random_test.lua
status 2 "a policy that is refused" policy test random_test.lua

# ---- C where objects are taken ----------------------------------------------

sed 's/ctx->seq/ctx->sequence/' count.bpf.c >typo.bpf.c
status 65 "C that clang refuses" policy verify typo.bpf.c
has "shows clang's own line and place" err "typo.bpf.c:5:28: error: no member named 'sequence'" \
	"ctx->channels = 1 + (ctx->sequence & 7);" "^"
{ cat count.bpf.c; echo 'NCCLBPF_PARAM(factor, 0.9, 0, 2);'; } >fraction.bpf.c
ends 65 malformed "a parameter whose value is not a whole number" policy verify fraction.bpf.c
sed 's/1 + (ctx->seq & 7)/(UINT64_MAX >> 60) - (ctx->seq \& 7)/' count.bpf.c >most.bpf.c
status 0 "UINT64_MAX is there" policy verify most.bpf.c
sed 's/return 0;/int unused; return 0;/' count.bpf.c >unused.bpf.c
status 0 "C with a warning" -o table policy verify unused.bpf.c
has "shows it" out "accepted" "unused.bpf.c:6:6: warning: unused variable 'unused'"
status 66 "C that is not there" policy verify nowhere.bpf.c
NCCLBPF_CLANG=no-such-clang fails 66 no_input "without clang" policy verify count.bpf.c
mkdir -p bare/bin && cp "$S" bare/bin/shell
S=$T/bare/bin/shell NCCLBPF_INCLUDE=$T ends 65 malformed "without the header" policy verify \
	count.bpf.c
mkdir flags && cp count.bpf.c flags/ && sed -i 's/1 +/MORE +/' flags/count.bpf.c
status 65 "a macro that is not defined" policy verify flags/count.bpf.c
printf -- '-DMORE=2\n-Iinc\n' >flags/compile_flags.txt
mkdir flags/inc && echo '#define SEVEN 7' >flags/inc/seven.h
sed -i 's/^SEC/#include "seven.h"\n&/; s/& 7/\& SEVEN/' flags/count.bpf.c
status 0 "flags of compile_flags.txt are used, folders beside it" policy verify flags/count.bpf.c
F=flags/compile_flags.txt
cp $F good.txt
printf -- '-MD\n-MF\nstolen\n' >>$F
fails 77 not_permitted "flags that write files are refused" policy verify flags/count.bpf.c
[ ! -e stolen ]
ok "and nothing is written" $?
printf -- '-MD -MF stolen\n' >response
printf -- '-include\n@response\n' >$F
status 77 "nor does a file of more arguments" policy verify flags/count.bpf.c
cp good.txt $F
chmod 666 $F
fails 77 not_permitted "flags that others may change are refused" policy verify flags/count.bpf.c
chmod 644 $F
if [ "$(id -u)" -eq 0 ]; then
	chown 65534 $F
	status 77 "flags of another user" policy verify flags/count.bpf.c
	chown 65534 flags/count.bpf.c
	status 0 "are taken for a policy of that user" policy verify flags/count.bpf.c
	chown 0 $F flags/count.bpf.c
else
	ok "flags of another user # SKIP not root" 0
fi
status 0 "policy build takes C" policy build count.bpf.c
[ -s count.policy ]
ok "and names the image after it" $?

if [ -x "$B/test/integration/control/host" ] && [ -e "$B/libncclbpf.so" ]; then
	job write --ranks 2 --procs 2 --rate 100
	status 0 "policy load takes C" policy load count.bpf.c
	has "holds it under the file's name" out "count" "accepted"
	while read -r step; do
		# shellcheck disable=SC2086
		status 0 "a step of policy new: $step" -o table $step
	done <steps
	status 65 "a job gets nothing that clang refuses" policy load typo.bpf.c
	run -o name policy list
	[ "$(sort "$T/out" | tr '\n' ' ')" = "count mid-rings " ]
	ok "it holds both and no other" $?
else
	tests=$((tests + 1))
	echo "ok $tests - a live job # SKIP no plugin or no stand-in host in the build"
fi
messages
