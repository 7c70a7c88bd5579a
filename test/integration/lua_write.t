#!/bin/sh
# SPDX-License-Identifier: MIT
# tier: quick  load: wait  limit: 600
# Files that the shell writes: whole, through a new file beside the target that
# is never a link somebody planted, and with the mode that the target had.
. "$TOP/test/integration/shell_lib.sh"
trap finish EXIT
cd "$T" || exit 1
umask 022
cat >write.lua <<'E'
local core = require "ncclbpf.core"
local _, pid = core.ids()
os.execute(("ln -s victim planted.%d.tmp; mkdir -p in_the_way.%d.tmp/x"):format(pid, pid))
for _, name in ipairs { "new", "private", "public", "planted", "device", "in_the_way" } do
	print(name, core.write(name, "after") and "written" or "refused")
end
E
for f in private public victim planted in_the_way; do echo before >$f; done
chmod 600 private
ln -s /dev/null device
lua_run write.lua >out 2>why
ok "the script ends" $?
mode() { # FILE MODE CLAIM
	[ "$(stat -c %a "$1")" = "$2" ] && [ "$(cat "$1")" = after ]
	ok "$3" $?
}
mode new 644 "a new file gets the mode that umask leaves"
mode private 600 "a file of mode 0600 keeps it"
mode public 644 "so does one of mode 0644"
mode planted 644 "a link planted as the temporary file is replaced"
[ "$(cat victim)" = before ]
ok "its target stays as it was" $?
grep -q '^in_the_way.refused' out && [ "$(cat in_the_way)" = before ]
ok "a folder in its place: the write is refused, the file stays whole" $?
grep -q '^device.written' out && [ -L device ]
ok "a device is written to, not replaced" $?
