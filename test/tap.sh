# SPDX-License-Identifier: MIT
# Sourced by suites in sh that need no shell of ours: tests in TAP, and test/await.sh.
#   say STATUS NAME [LOG]   one test; if it fails, the end of LOG, or of the files that $log names
# The suite ends with `echo "1..$n"` and `exit $bad`.
. "$TOP/test/await.sh"
n=0
bad=0
say() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
		return
	fi
	bad=1
	echo "not ok $n - $2"
	tail -n 30 ${3:-$log} | cut -c1-300 | sed 's/^/# /'
}
