# SPDX-License-Identifier: MIT
# Sourced by the libraries of suites in sh: the words of errors. Suites assert code and status; the
# whole text of each error stands in corpus/golden/messages/SUITE, which `make golden` writes.
#   heard NAME FILE   keep the error, or why nothing changed, of the answer in FILE (JSON)
#   worded            are all errors that were kept recorded so? If not, $T/why has the difference
heard() {
	printf '%s: %s\n' "$1" "$(sed -n -e 's/.*"error":{\(.*\)}/{\1/p; t' \
		-e 's/.*\("why":"[^"]*"\).*/\1/p' "$2" | tail -n 1)" |
		sed -E -e "s#$T#DIR#g; s#$B#BUILD#g; s#$TOP#TOP#g; s/,\"finding\":.*/}/" \
			-e 's/\b(pid|process|user|uid) [0-9]+/\1 N/g; s#/proc/[0-9]+#/proc/N#g' \
			-e 's/\b([0-9a-f]{64}|[0-9a-f]{8})\b/DIGEST/g; s/-nan/nan/g' \
			-e 's/(at byte|header says|image has) [0-9]+/\1 N/g' >>"$T/messages"
}
worded() {
	recorded=$TOP/test/corpus/golden/messages/$(basename "$0" .t)
	[ "${GOLDEN:-}" ] && cp "$T/messages" "$recorded"
	! grep -vxFf "$recorded" "$T/messages" >"$T/why" && return
	diff "$recorded" "$T/messages" >"$T/why"
	return 1
}
