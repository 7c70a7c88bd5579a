#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh [-n] GROUP...: install the Debian packages that are missing. The groups:
#
#   build      building         check      make check        full     make check-all
#   lint       make lint        fresh      make check-fresh  corpus   make check-kernel-corpus
#   fuzz       make fuzz
#   deb        make deb         packages   make rpm, make check-packages; buildah for its images
#   cross      make deb-arm64   browser    looking at reports
#   promtool slurm kubectl torch vm: unpacked into build/tools and build/vm, not installed,
#              because they would start servers or are large; tests that lack them are skipped
#
# Without the right to install, or with -n: print the one line to run, exit 69. Where dpkg
# is missing, libraries and tools are looked for, and what is missing is named.
set -u
ask=
[ "${1:-}" = -n ] && ask=yes && shift
build="gcc libc6-dev make pkg-config clang libbpf-dev libelf-dev liblua5.4-dev lua5.4"
build="$build libedit-dev libncurses-dev libjansson-dev libcurl4-openssl-dev"
build="$build libmicrohttpd-dev libgnutls28-dev"
check="check libibverbs-dev etcd-server etcd-client openssl curl git procps python3"
check="$check util-linux iproute2 binutils file locales"
full="python3-z3 python3-pycparser python3-pyte spin qemu-user gcc-aarch64-linux-gnu"
full="$full libc6-dev-arm64-cross mandoc groff-base zsh fish mypy"
full="$full gdb strace libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0"
lint="clang-format clang-tidy cppcheck mandoc groff-base"
fresh="mmdebstrap gpg mount"
fuzz="llvm" # whose symbolizer names the lines in reports of clang's sanitizers
deb="build-essential debhelper dh-python python3 dpkg-dev fakeroot"
packages="$deb lintian rpm rpmlint"
buildah="buildah"
cross="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
browser="chromium fonts-dejavu-core"
corpus="linux-source-6.12 clang-19 bpftool"

updated=
# The lists of packages, once.
update() {
	[ -n "$updated" ] || [ "$(id -u)" -ne 0 ] || apt-get update -qq
	updated=yes
}

# Prometheus and its own reader of metrics, without its service.
get_promtool() {
	tools=$(dirname "$0")/../build/tools
	command -v promtool >/dev/null && command -v prometheus >/dev/null && return
	[ -x "$tools/promtool" ] && [ -x "$tools/prometheus" ] && return
	echo "unpacking promtool and prometheus from the Debian package prometheus"
	update
	(
		mkdir -p "$tools" && tools=$(cd "$tools" && pwd) &&
			dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir" &&
			apt-get download -qq prometheus 2>log &&
			dpkg-deb -x prometheus_*.deb all &&
			mv all/usr/bin/promtool all/usr/bin/prometheus "$tools/"
	)
}

# unpack FOLDER PACKAGE...: packages and what they need that this machine lacks,
# into build/tools/FOLDER; nothing is installed.
unpack() {
	tools=$(dirname "$0")/../build/tools/$1
	[ -e "$tools" ] && return
	shift
	update
	echo "unpacking the Debian packages $*"
	(
		mkdir -p "$tools.new" && tools=$(cd "$tools.new" && pwd) &&
			dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT && cd "$dir" &&
			apt-get install -s --no-install-recommends "$@" >plan &&
			apt-get download -qq $(awk '/^Inst / { print $2 }' plan) 2>log &&
			for deb in *.deb; do dpkg-deb -x "$deb" "$tools" || exit; done &&
			mv "$tools" "${tools%.new}"
	)
}

want=
for group in "$@"; do
	if [ "$group" = promtool ]; then
		get_promtool || echo "promtool cannot be had: what asks it is skipped"
		continue
	fi
	unpacked=
	case $group in
	slurm) unpacked="slurmctld slurmd slurm-client munge" ;;
	kubectl) unpacked=kubernetes-client ;;
	torch) unpacked=python3-torch ;;
	esac
	if [ -n "$unpacked" ]; then
		# shellcheck disable=SC2086
		unpack "$group" $unpacked || echo "$group cannot be had: what asks it is skipped"
		continue
	fi
	if [ "$group" = vm ]; then
		"$(dirname "$0")/vm/build.sh" "$(dirname "$0")/../build/vm" ||
			echo "what asks it is skipped"
		continue
	fi
	eval "want=\"\$want \$$group\""
done
# A system of another family: its packages have other names.
if ! command -v dpkg-query >/dev/null; then
	missing=
	for tool in gcc make clang pkg-config lua5.4; do
		command -v $tool >/dev/null || missing="$missing $tool"
	done
	for lib in libbpf libelf lua5.4 libedit ncursesw jansson libcurl libmicrohttpd gnutls; do
		pkg-config --exists $lib 2>/dev/null || missing="$missing $lib.pc"
	done
	case " $* " in *" check "*)
		pkg-config --exists check 2>/dev/null || missing="$missing check.pc"
		;;
	esac
	[ -z "$missing" ] && exit 0
	echo "ncclbpf: missing here (tools, and libraries with their headers):$missing" >&2
	exit 69
fi

missing=
for p in $want; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' ||
		missing="$missing $p"
done
[ -z "$missing" ] && exit 0

line="apt-get install -y --no-install-recommends$missing"
if [ -n "$ask" ]; then
	echo "ncclbpf: these Debian packages are missing:$missing" >&2
	[ "$(id -u)" -eq 0 ] || line="sudo $line"
	echo "run: $line" >&2
	exit 69
elif [ "$(id -u)" -eq 0 ]; then
	sudo=
elif command -v sudo >/dev/null &&
	{ sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; then
	sudo=sudo
else
	echo "ncclbpf: these Debian packages are missing:$missing" >&2
	echo "run: sudo $line" >&2
	exit 69
fi
echo "installing Debian packages:$missing"
log=$(mktemp) || exit 73
trap 'rm -f "$log"' EXIT
get="$sudo env DEBIAN_FRONTEND=noninteractive"
if ! { $get apt-get update -qq && $get $line -qq; } >"$log" 2>&1; then
	tail -20 "$log" >&2
	echo "run: $line" >&2
	exit 69
fi
