#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Set-up without the right to install: one line to run, status 69; and nothing
# at all to do where everything is there. The package tools are played.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$TOP/test/tap.sh"
log=$dir/out
chmod 755 "$dir"
mkdir -m 755 "$dir/bin"
tool() { # name, body
	printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1"
	chmod 755 "$dir/bin/$1"
}
run() { PATH=$dir/bin:$PATH sh "$dir/setup.sh" build >"$dir/out" 2>&1; }
install -m 755 "$TOP/test/setup.sh" "$dir/setup.sh"

tool dpkg-query 'echo "install ok installed"'
tool apt-get 'echo "apt-get was called"; exit 1'
run
rc=$?
[ $rc -eq 0 ] && [ ! -s "$dir/out" ]
say $? "everything there: silent, status 0"

tool dpkg-query 'case $* in *libelf-dev*) exit 1 ;; esac; echo "install ok installed"'
tool id 'echo 1000'
tool sudo 'exit 1'
run
rc=$?
[ $rc -eq 69 ]
say $? "one missing, no right to install: status 69 ($rc)"
[ "$(grep -c '^run: sudo apt-get install .* libelf-dev$' "$dir/out")" -eq 1 ]
say $? "and the one line to run"

tool sudo '[ "$1" = -n ] && exit 0; exec "$@"'
tool apt-get 'echo "$@" >>"'"$dir"'/called"'
run
rc=$?
[ $rc -eq 0 ] && grep -q '^installing Debian packages: libelf-dev$' "$dir/out"
say $? "with sudo it says what it installs (status $rc)"
grep -q 'install -y --no-install-recommends libelf-dev' "$dir/called"
say $? "and installs that alone"

tool apt-get 'echo "no network" >&2; exit 100'
run
rc=$?
[ $rc -eq 69 ] && grep -q 'no network' "$dir/out"
say $? "a failed installation says why, status 69 ($rc)"

: >"$dir/called"
PATH=$dir/bin:$PATH sh "$dir/setup.sh" -n build >"$dir/out" 2>&1
rc=$?
[ $rc -eq 69 ] && grep -q '^run: sudo apt-get install .* libelf-dev$' "$dir/out" &&
	[ ! -s "$dir/called" ]
say $? "-n names what is missing and installs nothing, status 69 ($rc)"

# Without dpkg: tools and libraries are looked for.
mkdir "$dir/other"
for tool in gcc make clang lua5.4 sh; do ln -s "$(command -v sh)" "$dir/other/$tool"; done
other() { PATH=$dir/other "$dir/other/sh" "$dir/setup.sh" build >"$dir/out" 2>&1; }
printf '#!%s\n[ "$2" != libelf ]\n' "$(command -v sh)" >"$dir/other/pkg-config"
chmod 755 "$dir/other/pkg-config"
other
rc=$?
[ $rc -eq 69 ] && grep -q 'missing here .*: libelf.pc$' "$dir/out"
say $? "without dpkg a missing library is named, status 69 ($rc)"
printf '#!%s\nexit 0\n' "$(command -v sh)" >"$dir/other/pkg-config"
other
rc=$?
[ $rc -eq 0 ] && [ ! -s "$dir/out" ]
say $? "and with all libraries it is silent, status 0 ($rc)"

# unpacked into the tree that the script lies in
mkdir "$dir/test"
cp "$dir/setup.sh" "$dir/test/setup.sh"
tool promtool 'exit 0'
tool prometheus 'exit 0'
PATH=$dir/bin:$PATH sh "$dir/test/setup.sh" promtool >"$dir/out" 2>&1
rc=$?
[ $rc -eq 0 ] && [ ! -s "$dir/out" ]
say $? "promtool is there: silent"
rm "$dir/bin/promtool" "$dir/bin/prometheus"
PATH=$dir/bin:/usr/bin:/bin
if command -v promtool >/dev/null; then
	n=$((n + 1))
	echo "ok $n - promtool cannot be had # SKIP it is installed"
else
	sh "$dir/test/setup.sh" promtool >"$dir/out" 2>&1
	rc=$?
	[ $rc -eq 0 ] && grep -q 'promtool cannot be had' "$dir/out"
	say $? "it cannot be had: said, and no reason to stop"
fi
# The makefiles alone: what a plain make builds, and that a second make gets the job slots.
unset B V MAKEFLAGS
make -C "$TOP" -npq >"$dir/out" 2>/dev/null
grep -qx '.DEFAULT_GOAL := all' "$dir/out"
say $? "a plain make builds all"
cat >"$dir/slots.mk" <<'EOF'
include core/flags.mk
first:
	@$(AGAIN) -f $(firstword $(MAKEFILE_LIST)) second
second:
	@echo built
EOF
make -C "$TOP" -f "$dir/slots.mk" first >"$dir/out" 2>&1
grep -qx built "$dir/out" && ! grep -q jobserver "$dir/out"
say $? "a make that another one calls compiles in parallel too"
make -C "$TOP" help >"$dir/out" 2>&1
grep -q '^  make [a-z]' "$dir/out" && ! grep '^  make   ' "$dir/out"
say $? "make help names a target in each line"
echo "1..$n"
exit $bad
