#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# make check-conformance, with a runner of one test in place of the public one:
# both engines run it, a wrong answer fails, and a missing runner is named.
set -u
d=$(mktemp -d) || exit 70
trap 'rm -rf "$d"' EXIT
mkdir "$d/tests"
cat >"$d/runner" <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do
	case $1 in
	--plugin_path) plugin=$2 ;;
	--plugin_options) engine=$2 ;;
	esac
	shift 2
done
r0=$(echo b7 00 00 00 05 00 00 00 95 00 00 00 00 00 00 00 | "$plugin" "$engine")
[ "$r0" = "$WANT" ] && echo "PASS: five" && exit 0
echo "FAIL: five $r0"
exit 1
END
chmod +x "$d/runner"
run() { # want, runner
	WANT=$1 "$TOP/test/differential/conformance/public.sh" "$2" "" \
		"$B/test/differential/conformance/plugin" >"$d/out" 2>&1
}
n=0
claim() { # status, text
	n=$((n + 1))
	[ "$1" -eq 0 ] || printf 'not '
	echo "ok $n - $2"
	[ "$1" -eq 0 ] || sed 's/^/# /' "$d/out"
}
run 5 "$d/runner"
claim $? "both engines pass the runner's test"
run 6 "$d/runner"
[ $? -eq 1 ] && grep -q '^interpret: FAIL: five 5' "$d/out" &&
	grep -q '^jit: FAIL: five 5' "$d/out"
claim $? "a wrong answer fails, once for each engine"
run 5 "$d/none"
[ $? -eq 64 ] && grep -q "RUNNER='$d/none'" "$d/out"
claim $? "a missing runner is named"
echo "1..$n"
