#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH FOLDER PACKAGE...: Debian packages of another architecture and
# all that they depend on, unpacked into FOLDER, where a cross compiler and
# qemu-user find them. FOLDER/dpkg is a package database for dpkg-shlibdeps. The
# packages come from the mirrors of this machine; nothing is installed on it.
set -eu
arch=$1
mkdir -p "$2"
root=$(cd "$2" && pwd)
shift 2
[ "$(cat "$root/dpkg/packages" 2>/dev/null)" = "$*" ] && exit 0
rm -rf "${root:?}"/*
mkdir -p "$root/dpkg/info" "$root/apt/lists" "$root/apt/cache/archives/partial"
: >"$root/dpkg/status"

apt() {
	apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Acquire::Languages=none \
		-o APT::Sandbox::User=root -o Dir::State::status="$root/dpkg/status" \
		-o Dir::State::lists="$root/apt/lists" -o Dir::Cache="$root/apt/cache" \
		-o Dir::Etc::sourcelist="$root/apt/sources" -o Dir::Etc::sourceparts=- "$@"
}

# Debian's own mirrors: others may not have the architecture.
apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
	sort -u | while read -r uri suite; do
	echo "deb [arch=$arch] $uri $suite main"
done >"$root/apt/sources"
apt update
apt install --download-only --no-install-recommends -y "$@" >"$root/apt/log" 2>&1 || {
	tail -20 "$root/apt/log" >&2
	exit 69
}
echo "$arch" >"$root/dpkg/arch"
for deb in "$root"/apt/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$root"
	name=$(dpkg-deb -f "$deb" Package):$arch
	dpkg-deb -e "$deb" "$root/apt/control"
	{
		echo "Status: install ok installed"
		cat "$root/apt/control/control"
		echo
	} >>"$root/dpkg/status"
	for f in symbols shlibs; do
		[ -f "$root/apt/control/$f" ] && cp "$root/apt/control/$f" "$root/dpkg/info/$name.$f"
	done
	# Paths as dpkg-shlibdeps finds the files: within this folder.
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed "s#^\.#$root#; s#/\$##" >"$root/dpkg/info/$name.list"
	rm -rf "$root/apt/control"
done
echo 1 >"$root/dpkg/info/format"
rm -rf "$root/apt"
echo "$*" >"$root/dpkg/packages"
