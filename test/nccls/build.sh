#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh BUILD OUT LIBRARY GLIBC [HEADERS]: OUT is BUILD again, by symbolic links, but for the
# jobs: they are linked with the NCCL of folder LIBRARY and start with the loader of folder GLIBC
# ("": this machine's own), after which other folders of libraries may follow, each behind a colon.
# HEADERS: the device headers of that NCCL, for gin_job. Where LIBRARY contains RCCL, the job is
# linked with it and the virtual AMD GPUs.
#
# A job cannot be started as `ld.so job`: its ranks execute /proc/self/exe.
set -eu
B=$1 out=$2 library=$3 glibc=$4 headers=${5:-}
: "${CUDA:=/usr/local/cuda}" "${CC:=cc}" "${CXX:=c++}"
top=$(cd "$(dirname "$0")/../.." && pwd)

# mirror FOLDER NAME...: link all that FOLDER contains but NAME...
mirror() {
	folder=$1
	shift
	mkdir -p "$out/$folder"
	for path in "$B/$folder"/*; do
		name=${path##*/}
		case " $* " in *" $name "*) continue ;; esac
		[ -e "$path" ] && ln -sfn "$path" "$out/$folder/$name"
	done
}
mirror . test
mirror test fakes log passed.json
mirror test/fakes vgpu
mirror test/fakes/vgpu job gin_job sym_job

rpath=$library:$CUDA/lib64
loader=
if [ -n "$glibc" ]; then
	rpath=$library:$glibc:$CUDA/lib64
	loader=-Wl,--dynamic-linker=${glibc%%:*}/ld-linux-x86-64.so.2
fi
# DT_RPATH, which also holds for what libnccl.so.2 itself needs.
libraries="$library/libnccl.so.2 -L$CUDA/lib64 -lcudart -lpthread -lm $loader
	-Wl,--disable-new-dtags,-rpath,$rpath -Wl,--allow-shlib-undefined"
v=$B/test/fakes/vgpu
if [ -e "$library/librccl.so.1" ]; then
	# The job's calls of the CUDA runtime end in libamdhip64.so.7, which has the same GPUs.
	libraries="$library/librccl.so.1 $v/libamdhip64.so.7 $v/librocm_smi64.so.7 -lpthread -lm
		$loader -Wl,--disable-new-dtags,-rpath,$library:$v:$glibc
		-Wl,--allow-shlib-undefined"
	# shellcheck disable=SC2086 # a list of arguments
	$CC -o "$out/test/fakes/vgpu/job" "$v/job.o" "$v/job_check.o" "$v/job_options.o" $libraries
	exit 0
fi
# shellcheck disable=SC2086 # a list of arguments
$CC -o "$out/test/fakes/vgpu/job" "$v/job.o" "$v/job_check.o" "$v/job_options.o" $libraries
# A library before 2.27 has no windows.
if nm -D "$library/libnccl.so.2" | grep -q ncclCommWindowRegister; then
	# shellcheck disable=SC2086
	$CC -o "$out/test/fakes/vgpu/sym_job" "$v/sym_job.o" $libraries
fi
[ -n "$headers" ] || exit 0
# shellcheck disable=SC2086
$CXX -std=c++17 -O1 -g -I"$top" -isystem "$headers" -isystem "$CUDA/include" \
	-isystem "$CUDA/include/cccl" -o "$out/test/fakes/vgpu/gin_job" \
	"$top/test/fakes/vgpu/gin_job.cc" $libraries
