#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh FOLDER ARCH PACKAGE...: Debian's packages of another processor
# and all that they depend on, unpacked in FOLDER. A PACKAGE with a slash is a
# .deb file. apt works on lists of its own in FOLDER.apt: the packages, the
# settings and the processors of this machine stay as they are. Needs no root.
# Each package is also left in FOLDER.parts/NAME with its DEBIAN folder, where
# dpkg-shlibdeps looks for symbols. A complete FOLDER is kept.
set -eu
folder=$1 arch=$2
shift 2
[ -e "$folder.complete" ] && [ "$(cat "$folder.complete")" = "$*" ] && exit 0
rm -rf "$folder" "$folder.parts" "$folder.complete"
mkdir -p "$folder/usr/bin" "$folder/usr/sbin" "$folder/usr/lib" "$folder.parts" "$folder.apt"
folder=$(cd "$folder" && pwd)
apt=$folder.apt

mkdir -p "$apt/lists/partial" "$apt/archives/partial"
: >"$apt/status"
rm -f "$apt"/archives/*.deb
# Debian's own mirrors: others may not have the architecture.
apt-get indextargets \
	--format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
	sort -u | while read -r uri suite; do
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
done >"$apt/sources.list"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Sandbox::User "$(id -un)";
APT::Install-Recommends "false";
Acquire::Languages "none";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
EOF
export APT_CONFIG="$apt/apt.conf"
apt-get update -qq
apt-get install -y -qq --download-only "$@"

# One tree, as Debian has it: /lib is /usr/lib.
for d in bin sbin lib; do ln -s "usr/$d" "$folder/$d"; done
unpack() { # deb
	name=$(dpkg-deb -f "$1" Package)
	dpkg-deb -R "$1" "$folder.parts/$name"
	dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$folder"
}
for deb in "$apt"/archives/*.deb; do unpack "$deb"; done
for deb in "$@"; do
	case $deb in */*) unpack "$deb" ;; esac
done
# Links such as libz.so -> /lib/... stay within the tree.
find "$folder" -type l -lname '/*' | while read -r link; do
	ln -sfn "$folder$(readlink "$link")" "$link"
done
echo "$*" >"$folder.complete"
