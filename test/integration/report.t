#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: full  load: wait  limit: 600
# The report of a rollout, looked at in headless Chromium: no word in its
# console, every number that of the data, no name an element, nothing beyond
# the edge of a narrow screen; and one of 200,000 times. The docs' picture is of it.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
mkdir plain bad many
lua_run "$TOP/test/integration/report_make.lua" plain &&
	lua_run "$TOP/test/integration/report_make.lua" bad 5600 hostile
ok "a rollout's file" $?
status 0 "a report without a job" -o table rollout report out=plain/r.html data=plain/one.json \
	label="Published figures of 8 x B300 with chance added; nothing was measured here."
has "says what it wrote" out "plain/r.html: " "every time in plain/r.csv"
cmp -s plain/r.csv plain/one.times.csv
ok "every time lies beside it" $?
lua_run "$TOP/docs/report.lua" plain/r.html | diff "$TOP/docs/report.svg" - >why
ok "the picture of docs/rollouts.md is its beginning (make docs)" $?
status 0 "a report of hostile names" rollout report out=bad/r.html data=bad/one.json \
	label="<script>document.title='owned'</script>"
sed -e 's/"state":"succeeded"/"state":7/' plain/one.json >odd.json
ends 64 bad_argument "a file that is no rollout's" rollout report out=odd.html data=odd.json
sed -e 's/"rank":3/"rank":null/' plain/one.json >odd.json
status 64 "a file that has been tampered with" rollout report out=odd.html data=odd.json
[ ! -e odd.html ]
ok "and nothing is written" $?
rm plain/one.times.csv
status 0 "without its times" rollout report out=plain/medians.html data=plain/one.json
cp plain/r.csv plain/one.times.csv
grep -q 'block medians, because single times were not kept' plain/medians.html &&
	! grep -q medians.csv plain/medians.html
ok "block medians stand for them, and it is said" $?

# 200,000 times: as large as one of a thousand. A byte for each would be too large.
lua_run "$TOP/test/integration/report_make.lua" many 200060
status 0 "200,060 times" -o json rollout report out=many/r.html data=many/one.json
lua_run -e 'local core = require "ncclbpf.core" local d = core.decode(io.read "a").data
	assert(d.samples == 200060 and d.bytes < 2e5, d.bytes) print("# " .. d.bytes .. " bytes")
' <out 2>>why
ok "make a file of less than 200 kB" $?
[ "$(wc -l <many/r.csv)" -eq 200061 ]
ok "with every one beside it" $?
rm -rf many

browser=$(command -v chromium || command -v chromium-browser)
if [ -z "$browser" ]; then
	tests=$((tests + 1))
	echo "ok $tests - looked at in a browser # SKIP" \
		"chromium is not installed (test/setup.sh browser)"
	exit
fi
# look FILE ARGS...: the DOM in $T/dom, what went to the console in $T/console.
# A browser that does not end on a busy machine is begun again, twice.
look() {
	page=$1
	shift
	for try in 1 2 3; do
		rm -rf profile
		HOME=$T timeout -k 5 300 "$browser" --headless --no-sandbox --disable-gpu \
			--disable-dev-shm-usage --no-first-run --hide-scrollbars \
			--disable-extensions --disable-background-networking \
			--disable-component-update --disable-sync --disable-breakpad \
			--user-data-dir="$T/profile" --enable-logging=stderr \
			--allow-file-access-from-files "$@" "file://$T/$page" >dom 2>log
		rc=$?
		[ $rc -eq 0 ] && break
		echo "# $page: try $try ended with $rc"
	done
	grep -a 'CONSOLE' log >console
	return $rc
}
echo '<script>console.log("a word"); throw new Error("wrong")</script>' >wrong.html
look wrong.html --dump-dom
grep -q 'a word' console && grep -q 'Uncaught Error: wrong' console
ok "what a page says to its console is seen" $?
for which in plain bad; do
	look $which/r.html --dump-dom
	rc=$?
	[ $rc -eq 0 ] && [ ! -s console ]
	ok "$which: opens without a word" $?
	cp console why
	lua_run "$TOP/test/integration/report_check.lua" dom $which/one.json 2>>why
	ok "$which: what stands there is the data" $?
	grep -q '<title>rollout x\{0,1\}.*: succeeded</title>' dom
	ok "$which: no name is an element" $?
done
# No script runs.
sed 's#</body>#<script>document.title="owned"</script></body>#' plain/r.html >plain/other.html
look plain/other.html --dump-dom
grep -q 'Content Security Policy' console && ! grep -q '<title>owned' dom
ok "a script in the file is not run" $?
# both widths in one page: a browser takes a second of a processor to start
cat >frame.html <<'F'
<iframe src=plain/r.html width=400 height=600 style="border:0"></iframe>
<iframe src=plain/r.html width=1000 height=600 style="border:0"></iframe><pre id=p></pre>
<script>
onload = function() {
	for (var f of document.querySelectorAll("iframe")) {
		var w = f.contentDocument.documentElement
		document.getElementById("p").textContent += "width " + w.scrollWidth + " of " +
			w.clientWidth + " height " + (w.scrollHeight > 2000) + "\n"
	}
}
</script>
F
look frame.html --dump-dom
for width in 400 1000; do
	cp dom why
	grep -q "width $width of $width height true" dom && [ ! -s console ]
	ok "$width pixels wide: nothing lies beyond the edge" $?
done
for mode in 1 0; do
	look plain/r.html --blink-settings=preferredColorScheme=$mode --window-size=900,1230 \
		--screenshot="$T/$mode.png"
	[ $? -eq 0 ] && head -c 8 $mode.png | grep -qa PNG
	ok "a picture, colours $mode" $?
done
! cmp -s 0.png 1.png
ok "light and dark differ" $?
