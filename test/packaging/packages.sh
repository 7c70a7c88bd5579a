#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh FOLDER PACKAGES: the Debian packages in PACKAGES, judged by
# lintian; then installed in an empty Debian 12 in FOLDER, used, and removed.
# The RPM packages are judged by rpmlint. Needs root. TAP.
set -u
TOP=$(cd "$(dirname "$0")/../.." && pwd)
root=$1 packages=$2
. "$TOP/test/packaging/root.sh"
root_enter "$0" "$@"
lintian --no-cfg --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$packages"/*.changes >"$root.lintian.log" 2>&1
say $? "lintian finds no error and no warning" "$root.lintian.log"
rpmlint --config "$TOP/plugin/packaging/rpmlint.toml" "$packages"/*/*.rpm >"$root.rpmlint.log" 2>&1
say $? "rpmlint finds no error" "$root.rpmlint.log"

dpkg-deb -f "$packages"/ncclbpf_*.deb Depends >"$root.depends.log" && grep -q libbpf1 "$root.depends.log" &&
	! grep -q libibverbs "$root.depends.log"
say $? "the package depends on the libraries of the shell, not on libibverbs1" "$root.depends.log"

root_make bookworm python3
mkdir -p "$root/packages"
find "$packages" -maxdepth 1 -name '*.deb' ! -name '*-dbgsym_*' -exec cp {} "$root/packages/" \;
# The RUN lines of a stage of examples/containers/Containerfile, as one script.
stage() {
	awk -v want="$1" '/^FROM / { on = $NF == want } on && sub(/^RUN /, "") { run = 1 }
		on && run { print; run = /\\$/ }' "$TOP/examples/containers/Containerfile"
}
mkdir -p "$root/tmp/packages"
cp "$root"/packages/*.deb "$root/tmp/packages/"
stage shell >"$root/stage.sh"
root_run sh -ec 'export DEBIAN_FRONTEND=noninteractive; test -s /stage.sh; . /stage.sh' >"$root.install.log" 2>&1
say $? "apt-get installs the packages, as the Containerfile does it" "$root.install.log"
for kind in tuner profiler net env; do
	# As NCCL does it: the name alone, found by the loader's cache.
	root_run python3 -c "import ctypes; ctypes.CDLL('libnccl-$kind-ncclbpf.so')" >"$root.load.log" 2>&1
	say $? "the loader finds libnccl-$kind-ncclbpf.so by its name" "$root.load.log"
done
root_run ncclbpf-shell policy verify /usr/share/ncclbpf/policies/size_aware.policy >"$root.verify.log" 2>&1 &&
	grep -q accepted "$root.verify.log"
say $? "the shell verifies a policy of ncclbpf-dev" "$root.verify.log"
root_run lua5.4 -e 'print(require("ncclbpf")._VERSION or "loaded")' >"$root.lua.log" 2>&1
say $? "Lua finds the module" "$root.lua.log"
root_run python3 -c 'import ncclbpf; print(ncclbpf.version, ncclbpf.list())' >"$root.python.log" 2>&1
say $? "Python finds the module" "$root.python.log"
root_run sh -c 'apt-get purge -y -qq ncclbpf ncclbpf-dev lua-ncclbpf python3-ncclbpf; find /usr /etc -name "*ncclbpf*" | grep -v /src/; :' >"$root.purge.log" 2>&1
! grep '^/' "$root.purge.log"
say $? "removing them leaves nothing" "$root.purge.log"
# The other image has the plugin alone.
dpkg-deb --fsys-tarfile "$packages"/ncclbpf_*.deb | tar -xO --wildcards './usr/lib/*/libncclbpf.so' >"$root/usr/local/lib/libncclbpf.so"
path=$(sed -n 's/^ENV NCCL_TUNER_PLUGIN=//p' "$TOP/examples/containers/Containerfile")
root_run python3 -c "import ctypes; ctypes.CDLL('$path').ncclTunerPlugin_v5" >"$root.plugin.log" 2>&1
say $? "the plugin alone is loaded by the path that the Containerfile sets" "$root.plugin.log"
echo "1..$n"
exit $bad
