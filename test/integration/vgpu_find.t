#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600  needs: nm,strip
# Virtual GPUs find the CUDA runtime, the kernels and the function table in a libnccl.so without
# symbols: the same that the symbols of NCCL 2.28.9 say; and a copy of it that was stripped
# launches what the original launches.
set -u
. "$TOP/test/integration/shm_room.sh"
shm_room "stripped NCCL" "$0" "$@"
v=$B/test/fakes/vgpu
skip() {
	echo "1..0 # SKIP stripped NCCL: $*"
	exit 0
}
[ -x "$v/find_check" ] || skip "no libnccl and CUDA headers at build time"
lib=$(ldd "$v/job" | awk '$1 == "libnccl.so.2" { print $3 }')
[ -n "$(nm "$lib" 2>/dev/null)" ] || skip "$lib has no symbols to compare with"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/log

# ---- what is found

"$v/find_check" "$lib" >"$dir/found" 2>"$dir/log"
say $? "an NCCL of this machine can be read"
nm "$lib" | awk '{ sub("^0*", "", $1); print $3, $1 }' | sort >"$dir/symbols"
found() { awk -v kind="$1" '$1 == kind { print $2, $3 }' "$dir/found" | sort; }
found function >"$dir/functions"
comm -23 "$dir/functions" "$dir/symbols" >"$dir/log"
[ ! -s "$dir/log" ] && [ "$(wc -l <"$dir/functions")" -gt 300 ]
say $? "all that are found are functions of the CUDA runtime ($(wc -l <"$dir/functions"))"
# Names of the runtime that begin otherwise run in constructors, before any redirection. The one
# _v2 is a function of NCCL itself.
grep -E '^cuda[A-Z][A-Za-z_0-9]* ' "$dir/symbols" | comm -13 "$dir/functions" - |
	grep -Ev '^(cudaGetExportTable|cudaStreamGetCaptureInfo_v2) ' >"$dir/log"
[ ! -s "$dir/log" ]
say $? "and none is missed"
found kernel >"$dir/kernels"
grep -E '^_Z[0-9]+nccl(Symk)?DevKernel_' "$dir/symbols" | grep -v '\.' |
	comm -3 "$dir/kernels" - >"$dir/log"
[ ! -s "$dir/log" ] && [ -s "$dir/kernels" ]
say $? "all kernels are found, and nothing else is taken for one ($(wc -l <"$dir/kernels"))"
nm -S "$lib" | awk '$4 == "ncclDevFuncRowToId" { sub("^0*", "", $1); print $1, $2 }' >"$dir/rows"
read -r at size <"$dir/rows"
awk -v at="$at" -v n=$((0x$size / 4)) '$1 == "rows" { ok = $3 == at && $2 >= n } END { exit !ok }' \
	"$dir/found"
say $? "the table of functions begins where it does"
strip -o "$dir/libnccl.so.2" "$lib"
"$v/find_check" "$dir/libnccl.so.2" >"$dir/stripped" 2>"$dir/log"
cmp "$dir/found" "$dir/stripped" >>"$dir/log"
say $? "a stripped copy gives the same"

# ---- what is launched

all=allreduce,allgather,reducescatter,broadcast,reduce
launches() { # OUT [NAME=value...]
	out=$1
	shift
	env "$@" LD_PRELOAD="$v/libvgpu.so" VGPU_CLOCK=virtual VGPU_GPU=b300 VGPU_MULTICAST=1 \
		VGPU_LOG=1 timeout 300 "$v/job" --ranks 4 --coll $all --factor 16 \
		--report "$dir/$out.report" >"$dir/log" 2>&1 || return
	grep -c 'launch rank' "$dir/log" >"$dir/$out"
	sed -n 's/.*\] launch //p' "$dir/log" | sort >>"$dir/$out"
	grep -q "$(dirname "$lib")/libnccl.so.2: [1-9][0-9]* entry" "$dir/log" || echo stripped >&2
}
launches original 2>"$dir/which"
[ $? -eq 0 ] && [ ! -s "$dir/which" ]
say $? "a job of four ranks, five collectives"
launches copy LD_LIBRARY_PATH="$dir" 2>"$dir/which"
[ $? -eq 0 ] && grep -q stripped "$dir/which"
say $? "the same job with the stripped copy"
diff "$dir/original" "$dir/copy" >"$dir/log" && [ "$(head -1 "$dir/copy")" -gt 50 ]
say $? "launches the same ($(head -1 "$dir/copy") launches)"
cmp "$dir/original.report" "$dir/copy.report" >"$dir/log" 2>&1
say $? "and takes the same time, to the last digit"
echo "1..$n"
exit $bad
